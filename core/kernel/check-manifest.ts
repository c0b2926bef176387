/** Checks what a module declares about itself. Its author may have built it with other types, or with none: nothing is assumed. */
import { wordHint } from '../contract/suggest.js';
import { HELPERS, PLANES, type ModuleDeclaration, type ModuleKind } from '../contract/manifest.js';
import { directivesErrors } from './check-directives.js';
import { HTTP_PARTS, STREAM_PARTS } from './module-order.js';
import { settingsErrors } from './check-settings.js';
import { isModuleService } from './module-services.js';
import { isRecord, isTexts, ManifestError, unknownKeys, type ManifestErrors } from './manifest-error.js';

/** Gets the value of a key, undefined where it is absent. */
type Check = (value: unknown, key: string) => Iterable<ManifestError>;
type Checks = Readonly<Record<string, Check>>;

const OF_ALL: Checks = {
  // These two are checked before anything else.
  name: () => [],
  api: () => [],
  plane: planeErrors,
  needs: needsErrors,
  provides: providesErrors,
  directives: directivesErrors,
  settings: settingsErrors,
};

/** Keys of a manifest of each kind. */
const CHECKS: Readonly<Record<ModuleKind, Checks>> = {
  core: OF_ALL,
  http: { ...OF_ALL, after: namesErrors, before: namesErrors, phases: phasesErrors(HTTP_PARTS), variables: variablesErrors },
  stream: { ...OF_ALL, after: namesErrors, before: namesErrors, phases: phasesErrors(STREAM_PARTS), variables: variablesErrors },
  control: { ...OF_ALL, key: keyErrors, root: rootErrors, dataModule: dataModuleErrors },
  helper: { ...OF_ALL, helper: helperErrors },
};

/** Everything that is wrong with a manifest, apart from its name and version. */
export function* manifestErrors({ kind, manifest }: ModuleDeclaration): ManifestErrors {
  const checks = CHECKS[kind];
  yield* unknownKeys('key in the manifest', manifest, Object.keys(checks));
  for (const [key, check] of Object.entries(checks)) yield* check((manifest as unknown as Readonly<Record<string, unknown>>)[key], key);
}

function* planeErrors(plane: unknown): ManifestErrors {
  if (plane !== undefined) yield* unknownWord('plane', plane, PLANES);
}

function* helperErrors(helper: unknown): ManifestErrors {
  yield* unknownWord('helper', helper, HELPERS);
}

function* rootErrors(root: unknown): ManifestErrors {
  if (root !== undefined && !(typeof root === 'string' && /^(?:\/[\w.~-]+)*$/.test(root) && !root.startsWith('/v1')))
    yield new ManifestError('"root" must be a path like "/9", or empty', 'paths below "/v1" begin with the key of the module');
}

function* dataModuleErrors(name: unknown): ManifestErrors {
  if (name !== undefined && !(typeof name === 'string' && /^\w+$/.test(name)))
    yield new ManifestError('"dataModule" must be the name of a module', "write it as dataModule: 'srv_http_kv_module'");
}

function* needsErrors(needs: unknown = []): ManifestErrors {
  if (!Array.isArray(needs) || !needs.every((need) => typeof need === 'string' || isModuleService(need)))
    yield new ManifestError('"needs" must be an array of module names', "write it as needs: ['srv_http_proxy_module']");
}

function* providesErrors(provides: unknown = []): ManifestErrors {
  if (!Array.isArray(provides) || !provides.every(isModuleService))
    yield new ManifestError(
      '"provides" must be an array of services',
      "a service is a class with a name: static service = 'acme.sessions'",
    );
}

function* namesErrors(names: unknown = [], key: string): ManifestErrors {
  if (typeof names !== 'string' && !isTexts(names))
    yield new ManifestError(`"${key}" must be a module name or an array of them`, `write it as ${key}: 'srv_http_access_module'`);
}

/** @param parts of the engine that the module is for */
function phasesErrors(parts: readonly string[]): Check {
  return (phases = {}) => orderErrors(phases, parts);
}

function* orderErrors(phases: unknown, parts: readonly string[]): ManifestErrors {
  if (!isRecord(phases)) return yield new ManifestError('"phases" must be an object', 'write it as phases: { access: 50 }');
  yield* unknownKeys('phase', phases, parts);
  for (const [phase, order] of Object.entries(phases)) {
    if (!Number.isFinite(order))
      yield new ManifestError(`the order in phase "${phase}" must be a number`, 'lower ones come first, 100 is the default');
  }
}

/** Also for the field `variables` of a module's object. */
export function* variablesErrors(variables: unknown = {}): ManifestErrors {
  if (!isRecord(variables))
    return yield new ManifestError('"variables" must be an object', 'write it as variables: { name: (request) => text }');
  for (const [name, getter] of Object.entries(variables)) {
    if (!/^\w+$/.test(name))
      yield new ManifestError(`invalid variable name "${name}"`, 'letters, digits and underscores: what may follow a $');
    if (typeof getter !== 'function')
      yield new ManifestError(`variable "${name}" must be a function`, 'it gets the request and returns its text');
  }
}

/** Text that is allowed between slashes. */
const KEY = /^[a-z][a-z0-9_]*$/;

function* keyErrors(key: unknown): ManifestErrors {
  if (key === undefined || key === '')
    yield new ManifestError('the manifest has no "key"', 'it is the first part of the paths of its routes, below /v1/');
  else if (typeof key !== 'string' || !KEY.test(key))
    yield new ManifestError(`invalid "key" ${JSON.stringify(key)}`, 'a letter, then letters, digits and underscores, all in lower case');
}

function* unknownWord(what: string, word: unknown, words: readonly string[]): ManifestErrors {
  if (!words.includes(word as string)) yield new ManifestError(`unknown ${what} "${String(word)}"`, wordHint(String(word), words));
}
