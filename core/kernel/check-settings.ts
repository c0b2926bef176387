/** Checks the settings that a manifest declares. Its author may have built it with other types, or with none. */
import type { SpecRegistry } from '../config/registry.js';
import { SETTING_LEVELS, type Setting, type SettingLevel } from '../contract/setting.js';
import { isRecord, isTexts, ManifestError, unknownKeys, type ManifestErrors } from './manifest-error.js';

const KEYS = ['key', 'summary', 'engine', 'uses', 'errors', ...SETTING_LEVELS];
const SET_KEYS = ['fields', 'directives', 'read', 'write'];
const KEY = /^[a-z][a-z0-9_]*$/;
/** Fields that calls have besides those of settings. */
const TAKEN: ReadonlySet<string> = new Set(['servers', 'listens', 'serverNames', 'locations', 'location']);

/** Everything that is wrong with `settings` of a manifest. */
export function* settingsErrors(settings: unknown = []): ManifestErrors {
  if (!Array.isArray(settings)) return yield new ManifestError('"settings" must be an array', 'of settings, see srv/module/setting.js');
  for (const setting of settings as readonly unknown[]) {
    if (!isRecord(setting))
      yield new ManifestError('a setting must be an object', "{ key: 'acme_greeting', summary, engine: 'http', location: [ … ] }");
    else
      for (const { message, hint } of settingErrors(setting))
        yield new ManifestError(`setting "${String(setting['key'])}": ${message}`, hint);
  }
}

function* settingErrors(setting: Readonly<Record<string, unknown>>): ManifestErrors {
  yield* unknownKeys('key', setting, KEYS);
  const { key, summary, engine, uses = [], errors = [] } = setting;
  if (typeof key !== 'string' || !KEY.test(key))
    yield new ManifestError('invalid "key"', 'a letter, then letters, digits and underscores, all in lower case');
  if (typeof summary !== 'string' || summary === '') yield new ManifestError('"summary" must be a text', 'what it is about, as a noun');
  if (engine !== 'http' && engine !== 'stream') yield new ManifestError('unknown "engine"', "it is 'http' or 'stream'");
  if (!isTexts(uses)) yield new ManifestError('"uses" must be an array of directives');
  if (!isTexts(errors)) yield new ManifestError('"errors" must be an array of codes');
  for (const level of SETTING_LEVELS) yield* levelErrors(level, setting[level]);
}

function* levelErrors(level: SettingLevel, sets: unknown = []): ManifestErrors {
  if (!Array.isArray(sets)) return yield new ManifestError(`"${level}" must be an array of sets of fields`);
  const owners = new Set<string>();
  for (const set of sets as readonly unknown[]) {
    if (!isSet(set)) yield new ManifestError(`"${level}" must be an array of sets of fields`, `with ${SET_KEYS.join(', ')}`);
    else yield* setErrors(level, set, owners);
  }
}

interface AnySet {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly directives: readonly string[];
}

function isSet(set: unknown): set is AnySet {
  if (!isRecord(set) || typeof set['read'] !== 'function' || typeof set['write'] !== 'function') return false;
  return isRecord(set['fields']) && isTexts(set['directives']) && set['directives'].length > 0;
}

/** @param owners what the sets before it have of this level: names of fields, and of directives with a blank in front */
function* setErrors(level: SettingLevel, set: AnySet, owners: Set<string>): ManifestErrors {
  yield* unknownKeys('key', set, SET_KEYS);
  for (const name of Object.keys(set.fields)) {
    if (TAKEN.has(name) || owners.has(name)) yield new ManifestError(`the name of field "${name}" of "${level}" is taken`);
    owners.add(name);
  }
  for (const name of set.directives) {
    if (owners.has(` ${name}`)) yield new ManifestError(`directive "${name}" belongs to two sets of "${level}"`, 'put the fields into one');
    owners.add(` ${name}`);
  }
}

/** Directives of settings that the API could not change: unknown ones, the first of each shipped module, and those whose specs do not say that it may. */
export function* settingDirectivesErrors(settings: readonly Setting[] = [], registry: SpecRegistry): ManifestErrors {
  const missing = new Set<string>();
  for (const { key, engine, ...levels } of settings)
    for (const level of SETTING_LEVELS)
      for (const name of (levels[level] ?? []).flatMap(({ directives }) => directives)) {
        const spec = registry.find(contextOf(engine, level), name)?.spec;
        if (spec === undefined) {
          const file = registry.shippedIn(name);
          if (file !== undefined && missing.has(file)) continue;
          if (file !== undefined) missing.add(file);
          yield new ManifestError(`setting "${key}": no directive "${name}" in ${level}`, missingHint(file));
        } else if (spec.dynamic === undefined) yield new ManifestError(`setting "${key}": directive "${name}" is not dynamic`);
      }
}

/** @param file of the shipped module that has the directive, if any */
function missingHint(file: string | undefined): string {
  return file === undefined ? 'load the module that has it as well' : `add "load_module ${file};" at the top of the configuration`;
}

function contextOf(engine: Setting['engine'], level: SettingLevel): string {
  if (level === 'global') return engine;
  return engine === 'stream' ? `stream ${level}` : level;
}
