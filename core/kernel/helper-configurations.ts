/**
 * The configurations that `helper` lines name, checked with the one that names them: a helper with an error in its own would be started
 * again and again, and the server would have no API.
 */
import { dirname, resolve } from 'node:path';
import { ConfigError, ConfigErrors, configErrorsOf, errorAt } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { Parsed } from '../config/parser.js';
import { IdSource, type DirectiveData } from '../config/tree.js';
import { ApiRoutes } from '../module/services.js';
import type { Word } from '../module/tree.js';
import { checkConfiguration, checkParsed, type Configuration } from './check-configuration.js';
import { compileAlone } from './compile-alone.js';
import { findModules } from './find-module.js';
import type { Installation } from './installation.js';
import { Instance, type InstanceOptions } from './instance.js';
import { importModule, type LoadedModule } from './module-file.js';
import { ModuleLoadError } from './module-load-error.js';
import { readConfiguration } from './read-configuration.js';

type Around = Pick<InstanceOptions, 'log' | 'prefix' | 'installation'>;

/** What a look at one `helper` line found. */
interface Checked {
  readonly errors: readonly ConfigError[];
  /** Every file of its configuration. */
  readonly files: readonly string[];
}

const NOTHING: Checked = { errors: [], files: [] };

/**
 * As {@link checkParsed}, together with the configurations of the helpers, whose files are among those of the result.
 * @throws ConfigErrors with the errors of all of them
 */
export async function checkWithHelpers(parsed: Parsed, instance: Instance): Promise<Configuration> {
  const collector = new ErrorCollector();
  const configuration = await checkParsed(parsed, instance).catch((error: unknown) => collector.add(error));
  const lines = parsed.directives.filter(({ name }) => name === 'helper');
  const helpers = await Promise.all(lines.map((line) => checkHelper(line, instance.options)));
  for (const error of helpers.flatMap((helper) => helper.errors)) collector.add(error);
  collector.throwIfAny();
  const { tree, modules, files } = configuration as Configuration;
  return { tree, modules, files: [...new Set([...files, ...helpers.flatMap((helper) => helper.files)])] };
}

/** An error without a place of its own gets that of the `helper` line. */
async function checkHelper(line: DirectiveData, around: Around): Promise<Checked> {
  const [kind, module, conf] = line.args;
  // Too few words are the main configuration's own error.
  if (kind === undefined || module === undefined || conf === undefined) return NOTHING;
  const path = resolve(around.prefix, conf.text);
  const files: string[] = [];
  const check = kind.text === 'ctrl' ? checkControl : checkEmpty;
  const found = await Promise.all([
    errorsIn(() => loadHelperModule(kind.text, module.text, around.prefix, around.installation)),
    errorsIn(async () => files.push(...(await check(path, around)))),
  ]);
  const errors = found.flatMap((some, at) => some.map((error) => placed(error, line, at === 0 ? module : conf, path)));
  return { errors, files };
}

/**
 * The module of a `helper` line.
 * @throws ModuleLoadError
 */
export async function loadHelperModule(kind: string, module: string, prefix: string, installation: Installation): Promise<LoadedModule> {
  const files = findModules(module, prefix, installation);
  const loaded = await Promise.all(files.map((file) => importModule(file, installation, 'control')));
  const found = loaded.find(({ declaration }) => declaration.manifest.helper === kind);
  if (found !== undefined) return found;
  throw new ModuleLoadError(`module "${loaded[0]?.name}" cannot be the helper "${kind}"`);
}

/** Returns the files that were read. @throws ConfigErrors */
async function checkControl(conf: string, around: Around): Promise<readonly string[]> {
  // Its schemas take long to load: only a start with a control plane needs them.
  const { ControlRouter } = await import('../control/router.js');
  const instance = new Instance({ ...around, role: 'control', worker: -1, confFolder: dirname(conf), validates: false });
  const router = new ControlRouter(around.log, around.installation.version);
  instance.services.provide(ApiRoutes, router);
  instance.follow({ prepare: ({ modules }) => router.prepare(modules) });
  let read: readonly string[] = [];
  await compileAlone(instance, async () => {
    const { tree, files } = await checkConfiguration({ conf, globals: undefined }, new IdSource(), instance);
    read = files;
    return tree.toData();
  });
  return read;
}

/** As {@link checkControl}, for the broker: it has nothing to set. */
function checkEmpty(conf: string): readonly string[] {
  const { directives, errors, files } = readConfiguration({ conf, globals: undefined }, new IdSource());
  const unknown = directives.map((directive) => errorAt(directive, `unknown directive "${directive.name}"`));
  const all = [...errors, ...unknown];
  if (all.length > 0) throw new ConfigErrors(all);
  return files;
}

async function errorsIn(check: () => unknown): Promise<readonly ConfigError[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof ModuleLoadError) return [new ConfigError(error.message, undefined, 1, error.hint)];
    const errors = configErrorsOf(error);
    if (!errors) throw error;
    return errors;
  }
}

function placed(error: ConfigError, line: DirectiveData, word: Word, path: string): ConfigError {
  if (error.source !== undefined) return error;
  const { message, hint } = error;
  return errorAt(line, message.startsWith('no "events"') ? `${message} "${path}"` : message, word, hint);
}
