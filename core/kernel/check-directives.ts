/** Checks the directive specs of a module, each by itself. Contexts and defaults need the other modules: see module-set and running-modules. */
import { wordHint } from '../contract/suggest.js';
import { INHERITANCES, type ArgType } from '../contract/spec.js';
import { ZONE_CONTEXTS } from './module-zones.js';
import { isRecord, isTexts, ManifestError, unknownKeys, type ManifestErrors } from './manifest-error.js';

type Check = (value: unknown, key: string) => Iterable<ManifestError>;

/** By key of a spec; called for existing keys. */
const CHECKS: Readonly<Record<string, Check>> = {
  name: textErrors,
  in: contextsErrors,
  args: argsErrors,
  many: trueErrors,
  inherit: inheritErrors,
  block: blockErrors,
  default: textErrors,
  identity: functionErrors,
  doc: textErrors,
  argDocs: () => [],
  dynamic: () => [],
  defines: functionErrors,
  assigns: trueErrors,
  keyed: trueErrors,
  holds: textErrors,
};

/** One word of the configuration language without quotes, as all of nginx's names. */
const NAME = /^[a-z][a-z0-9_]*$/;
const NAME_HINT = 'a letter, then letters, digits and underscores, all in lower case';

/** Everything that is wrong with the `directives` of a manifest. */
export function* directivesErrors(directives: unknown = {}): ManifestErrors {
  if (!isRecord(directives))
    return yield new ManifestError('"directives" must be an object', "write it as directives: { greet: directive({ in: ['location'] }) }");
  for (const [name, spec] of Object.entries(directives)) {
    if (!NAME.test(nameOf(name, spec))) yield new ManifestError(`invalid directive name "${nameOf(name, spec)}"`, NAME_HINT);
    for (const { message, hint } of specErrors(spec)) yield new ManifestError(`directive "${name}": ${message}`, hint);
  }
}

/** Specs of one name in several contexts have keys of their own. */
function nameOf(key: string, spec: unknown): string {
  const name = isRecord(spec) ? spec['name'] : undefined;
  return typeof name === 'string' ? name : key;
}

function* specErrors(spec: unknown): ManifestErrors {
  if (!isRecord(spec)) return yield new ManifestError('not a directive spec', "write it as directive({ in: ['location'], args: flag() })");
  yield* unknownKeys('key', spec, Object.keys(CHECKS));
  if (spec['in'] === undefined) yield* contextsErrors(undefined);
  for (const [key, check] of Object.entries(CHECKS)) if (spec[key] !== undefined) yield* check(spec[key], key);
  yield* dynamicErrors(spec);
  yield* writtenErrors(spec);
  yield* zoneErrors(spec);
  if (isRecord(spec['block']) && isArgType(spec['args']))
    yield new ManifestError('"args" of a directive with a typed block must be an object', "write it as args: { name: text('name') }");
  yield* argDocsErrors(spec);
}

/** Names of arguments, and their types; the value itself has an empty name. */
function argTypes(args: unknown): readonly (readonly [name: string, type: unknown])[] {
  if (isArgType(args)) return [['', args]];
  return isRecord(args) ? Object.entries(args) : [];
}

function* dynamicErrors({ dynamic, args }: Readonly<Record<string, unknown>>): ManifestErrors {
  if (dynamic === undefined) return;
  const names = argTypes(args).map(([name]) => name);
  if (dynamic !== true && !isTexts(dynamic))
    return yield new ManifestError(
      '"dynamic" must be true or an array of argument names',
      "write it as dynamic: true, or dynamic: ['size']",
    );
  for (const name of dynamic === true ? [] : dynamic)
    if (!names.includes(name)) yield new ManifestError(`"dynamic" names an unknown argument "${name}"`, wordHint(name, names));
}

/** Every current directive can be written and shown: by the API, and as text. */
function* writtenErrors({ args }: Readonly<Record<string, unknown>>): ManifestErrors {
  for (const [name, type] of argTypes(args))
    if (isArgType(type) && !isWritten(type))
      yield new ManifestError(
        `${name === '' ? '"args"' : `argument "${name}"`} must have "print" and "json"`,
        'argType({ kind, form, parse }) of srv/module/arg-type.js makes them',
      );
}

/** A bare word is its own text. */
function isWritten(type: unknown): boolean {
  if (!isRecord(type)) return false;
  if (isRecord(type['of'])) return isWritten(type['of']);
  return isRecord(type['json']) && (type['kind'] === 'word' || typeof type['print'] === 'function');
}

function* argDocsErrors({ argDocs, args }: Readonly<Record<string, unknown>>): ManifestErrors {
  if (argDocs === undefined) return;
  if (!isRecord(argDocs))
    return yield new ManifestError('"argDocs" must be an object', "write it as argDocs: { size: 'Bytes of the buffer.' }");
  const names = argTypes(args).map(([name]) => name);
  for (const [name, doc] of Object.entries(argDocs)) {
    if (!names.includes(name)) yield new ManifestError(`"argDocs" names an unknown argument "${name}"`, wordHint(name, names));
    yield* textErrors(doc, `argDocs.${name}`);
  }
}

function* contextsErrors(contexts: unknown): ManifestErrors {
  if (!isTexts(contexts) || contexts.length === 0)
    yield new ManifestError('"in" must name at least one context', "write where it is allowed, as in: ['http', 'server', 'location']");
}

/** Zones are opened before scopes are compiled, where these blocks are. */
function* zoneErrors({ in: contexts, args }: Readonly<Record<string, unknown>>): ManifestErrors {
  if (!isTexts(contexts) || !argTypes(args).some(([, type]) => declaresZone(type))) return;
  yield* syncErrors(args);
  const elsewhere = contexts.find((context) => !ZONE_CONTEXTS.includes(context));
  if (elsewhere !== undefined)
    yield new ManifestError(`a zone cannot be declared in context "${elsewhere}"`, `declare it in one of: ${ZONE_CONTEXTS.join(', ')}`);
}

/** `sync` of the zone and the argument belong together. */
function* syncErrors(args: unknown): ManifestErrors {
  const types = argTypes(args);
  const isShared = types.some(
    ([, type]) => isRecord(type) && (type['sync'] ?? (type['of'] as ArgType<unknown> | undefined)?.sync) !== undefined,
  );
  const hasArgument = types.some(([name, type]) => name === 'sync' && isRecord(type) && type['mayBeBare'] === true);
  if (isShared !== hasArgument)
    yield new ManifestError(
      'a zone with "sync" needs an argument "sync" of type zoneSync()',
      'args: { zone: zone({ sync: … }), sync: zoneSync() }',
    );
}

function declaresZone(type: unknown): boolean {
  return isRecord(type) && (type['kind'] === 'zone' || declaresZone(type['of']));
}

function* argsErrors(args: unknown): ManifestErrors {
  if (isArgType(args)) return;
  if (!isRecord(args) || typeof args['parse'] === 'function') return yield notArgType('"args"');
  for (const [name, type] of Object.entries(args)) if (!isArgType(type)) yield notArgType(`argument "${name}"`);
  yield* orderErrors(Object.entries(args));
}

/** An argument that may be absent would take the words of later ones. */
function* orderErrors(args: readonly (readonly [name: string, type: unknown])[]): ManifestErrors {
  let absent: string | undefined;
  let rest: string | undefined;
  for (const [name, type] of args) {
    const kind = isRecord(type) ? type['kind'] : undefined;
    if (kind === 'word' || kind === 'param') continue;
    if (rest !== undefined)
      yield new ManifestError(`argument "${name}" follows "${rest}"`, 'rest() takes all words that follow: put it last');
    else if (absent !== undefined && kind !== 'optional' && kind !== 'rest')
      yield new ManifestError(`argument "${name}" follows "${absent}", which may be absent`, 'put optional() arguments last');
    if (kind === 'optional') absent = name;
    if (kind === 'rest') rest = name;
  }
}

function isArgType(type: unknown): boolean {
  return isRecord(type) && typeof type['parse'] === 'function' && typeof type['kind'] === 'string' && typeof type['form'] === 'string';
}

function notArgType(what: string): ManifestError {
  return new ManifestError(
    `${what} is not an argument type`,
    'the functions in srv/module/args.js make them: flag(), text(), number({ min: 1 })',
  );
}

function* inheritErrors(inherit: unknown): ManifestErrors {
  if (!INHERITANCES.some((one) => one === inherit))
    yield new ManifestError(`unknown "inherit" value "${String(inherit)}"`, wordHint(String(inherit), INHERITANCES));
}

function* blockErrors(block: unknown): ManifestErrors {
  if (typeof block === 'string') return;
  if (!isRecord(block) || typeof block['context'] !== 'string' || !isRecord(block['directives']))
    return yield new ManifestError(
      '"block" must be a context, or a context with its directives',
      "write it as block: { context: 'acme', directives }",
    );
  const { context, directives } = block;
  yield* directivesErrors(directives);
  for (const [name, spec] of Object.entries(directives))
    if (isRecord(spec) && isTexts(spec['in']) && !spec['in'].includes(context))
      yield new ManifestError(`directive "${name}" of the block must have "${context}" in its "in"`);
}

function* textErrors(value: unknown, key: string): ManifestErrors {
  if (typeof value !== 'string') yield new ManifestError(`"${key}" must be a string`, 'write it in quotes');
}

/** Any value, `false` too, would count as true. */
function* trueErrors(value: unknown, key: string): ManifestErrors {
  if (value !== true) yield new ManifestError(`"${key}" must be true`, 'leave it out instead');
}

function* functionErrors(value: unknown, key: string): ManifestErrors {
  if (typeof value !== 'function') yield new ManifestError(`"${key}" must be a function`, 'it gets the directive and returns its text');
}
