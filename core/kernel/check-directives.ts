/** Checks the directive specs of a module, each by itself. Contexts and defaults need the other modules: see module-set and running-modules. */
import { wordHint } from '../config/suggest.js';
import { INHERITANCES } from '../module/spec.js';
import { isRecord, isTexts, unknownKeys, type Fault, type Faults } from './fault.js';

type Check = (value: unknown, key: string) => Iterable<Fault>;

/** By key of a spec; called for what is there. */
const CHECKS: Readonly<Record<string, Check>> = {
  name: textFaults,
  in: contextsFaults,
  args: argsFaults,
  many: trueFaults,
  inherit: inheritFaults,
  block: textFaults,
  default: textFaults,
  identity: functionFaults,
  doc: textFaults,
  keyed: trueFaults,
  holds: textFaults,
};

/** Everything that is wrong with the `directives` of a manifest. */
export function* directivesFaults(directives: unknown = {}): Faults {
  if (!isRecord(directives))
    return yield { message: '"directives" is no record', hint: "write it as directives: { greet: directive({ in: ['location'] }) }" };
  for (const [name, spec] of Object.entries(directives)) {
    for (const { message, ...hint } of specFaults(spec)) yield { message: `directive "${name}": ${message}`, ...hint };
  }
}

function* specFaults(spec: unknown): Faults {
  if (!isRecord(spec)) return yield { message: 'this is no spec', hint: "write it as directive({ in: ['location'], args: flag() })" };
  yield* unknownKeys('key', spec, Object.keys(CHECKS));
  if (spec['in'] === undefined) yield* contextsFaults(undefined);
  for (const [key, check] of Object.entries(CHECKS)) if (spec[key] !== undefined) yield* check(spec[key], key);
}

function* contextsFaults(contexts: unknown): Faults {
  if (!isTexts(contexts) || contexts.length === 0)
    yield { message: '"in" names no context', hint: "write where it may stand, as in: ['http', 'server', 'location']" };
}

function* argsFaults(args: unknown): Faults {
  if (isArgType(args)) return;
  if (!isRecord(args) || typeof args['parse'] === 'function') return yield noArgType('"args"');
  for (const [name, type] of Object.entries(args)) if (!isArgType(type)) yield noArgType(`argument "${name}"`);
}

function isArgType(type: unknown): boolean {
  return isRecord(type) && typeof type['parse'] === 'function' && typeof type['kind'] === 'string' && typeof type['form'] === 'string';
}

function noArgType(what: string): Fault {
  return {
    message: `${what} is no argument type`,
    hint: 'the functions in srv/module/args.js make them: flag(), text(), number({ min: 1 })',
  };
}

function* inheritFaults(inherit: unknown): Faults {
  if (!INHERITANCES.some((one) => one === inherit))
    yield { message: `unknown "inherit" value "${String(inherit)}"`, hint: wordHint(String(inherit), INHERITANCES) };
}

function* textFaults(value: unknown, key: string): Faults {
  if (typeof value !== 'string') yield { message: `"${key}" is no text`, hint: 'write it in quotes' };
}

/** Anything else than absence is taken for a yes. */
function* trueFaults(value: unknown, key: string): Faults {
  if (value !== true) yield { message: `"${key}" is not true`, hint: 'it is true, or it is left out' };
}

function* functionFaults(value: unknown, key: string): Faults {
  if (typeof value !== 'function') yield { message: `"${key}" is no function`, hint: 'a function of the directive gives its text' };
}
