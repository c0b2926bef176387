/** Checks what a module says about itself. Its author may have had other types than ours, or none: nothing is taken for granted. */
import { wordHint } from '../config/suggest.js';
import { PHASES } from '../module/http.js';
import { HELPERS, PLANES, type ModuleDeclaration, type ModuleKind } from '../module/manifest.js';
import { directivesFaults } from './check-directives.js';
import { isRecord, isTexts, unknownKeys, type Fault, type Faults } from './fault.js';

/** Gets the value of a key, undefined where it is absent. */
type Check = (value: unknown) => Iterable<Fault>;
type Checks = Readonly<Record<string, Check>>;

const OF_ALL: Checks = {
  // These two are looked at before anything else.
  name: () => [],
  api: () => [],
  plane: planeFaults,
  needs: needsFaults,
  directives: directivesFaults,
};

/** What a manifest of each kind may say. */
const CHECKS: Readonly<Record<ModuleKind, Checks>> = {
  core: OF_ALL,
  http: { ...OF_ALL, phases: phasesFaults, variables: variablesFaults },
  control: { ...OF_ALL, key: keyFaults },
  helper: { ...OF_ALL, helper: helperFaults },
};

/** Everything that is wrong with a manifest, apart from its name and version. */
export function* manifestFaults({ kind, manifest }: ModuleDeclaration): Faults {
  const checks = CHECKS[kind];
  yield* unknownKeys('key in the manifest', manifest, Object.keys(checks));
  for (const [key, check] of Object.entries(checks)) yield* check((manifest as unknown as Readonly<Record<string, unknown>>)[key]);
}

function* planeFaults(plane: unknown): Faults {
  if (plane !== undefined) yield* strangeWord('plane', plane, PLANES);
}

function* helperFaults(helper: unknown): Faults {
  yield* strangeWord('helper', helper, HELPERS);
}

function* needsFaults(needs: unknown): Faults {
  if (needs !== undefined && !isTexts(needs))
    yield { message: '"needs" is no list of names', hint: "write it as needs: ['srv_http_proxy_module']" };
}

function* phasesFaults(phases: unknown = {}): Faults {
  if (!isRecord(phases)) return yield { message: '"phases" is no record', hint: 'write it as phases: { access: 50 }' };
  yield* unknownKeys('phase', phases, [...PHASES, 'header', 'body', 'log']);
  for (const [phase, order] of Object.entries(phases)) {
    if (!Number.isFinite(order))
      yield { message: `the order in phase "${phase}" is no number`, hint: 'lower ones come first, 100 is the default' };
  }
}

/** Also for the field `variables` of a module's object. */
export function* variablesFaults(variables: unknown = {}): Faults {
  if (!isRecord(variables))
    return yield { message: '"variables" is no record', hint: 'write it as variables: { name: (request) => text }' };
  for (const [name, getter] of Object.entries(variables)) {
    if (typeof getter !== 'function')
      yield { message: `variable "${name}" is no function`, hint: 'a function of the request gives its text' };
  }
}

function* keyFaults(key: unknown): Faults {
  if (typeof key !== 'string' || key === '')
    yield { message: 'the manifest has no key', hint: 'it is the first part of the paths of its routes, below /v1/' };
}

function* strangeWord(what: string, word: unknown, words: readonly string[]): Faults {
  if (!words.includes(word as string)) yield { message: `unknown ${what} "${String(word)}"`, hint: wordHint(String(word), words) };
}
