/**
 * The configurations that `helper` lines name, checked with the one that names them: a helper with a mistake in its own would be started
 * again and again, and the server would have no API.
 */
import { dirname, resolve } from 'node:path';
import { ownDirectives } from '../config/conf.js';
import { ConfigError, ConfigErrors, configErrorsOf, errorAt } from '../config/errors.js';
import { Mistakes } from '../config/mistakes.js';
import type { Parsed } from '../config/parser.js';
import { ConfigTree, IdSource } from '../config/tree.js';
import { ControlRouter } from '../control/router.js';
import { ApiRoutes } from '../module/services.js';
import type { Block, Directive, Word } from '../module/tree.js';
import { checkConfiguration, checkParsed, type Configuration } from './check-configuration.js';
import { compileAlone } from './compile-alone.js';
import type { Installation } from './installation.js';
import { Instance, type InstanceOptions } from './instance.js';
import { findModule, importModule, ModuleLoadError, type LoadedModule } from './module-file.js';
import { readConfiguration } from './read-configuration.js';

type Around = Pick<InstanceOptions, 'log' | 'prefix' | 'installation'>;

/**
 * As {@link checkParsed}, together with the configurations of the helpers.
 * @throws ConfigErrors with the mistakes of all of them
 */
export async function checkWithHelpers(parsed: Parsed, instance: Instance): Promise<Configuration> {
  const mistakes = new Mistakes();
  const configuration = await checkParsed(parsed, instance).catch((error: unknown) => mistakes.take(error));
  for (const mistake of await helperMistakes(ConfigTree.fromData(parsed.directives).root, instance.options)) mistakes.take(mistake);
  mistakes.throwIfAny();
  return configuration as Configuration;
}

/** All mistakes in the helpers' configurations. A mistake without a place of its own gets that of the `helper` line. */
async function helperMistakes(root: Block, around: Around): Promise<readonly ConfigError[]> {
  const found = await Promise.all(ownDirectives(root, 'helper').map((line) => mistakesOf(line, around)));
  return found.flat();
}

async function mistakesOf(line: Directive, around: Around): Promise<readonly ConfigError[]> {
  const [kind, module, conf] = line.args;
  // Too few words are the main configuration's own mistake.
  if (kind === undefined || module === undefined || conf === undefined) return [];
  const path = resolve(around.prefix, conf.text);
  const check = kind.text === 'ctrl' ? () => checkControl(path, around) : () => checkEmpty(path);
  const found = await Promise.all([
    mistakesIn(() => loadHelperModule(kind.text, module.text, around.prefix, around.installation)),
    mistakesIn(check),
  ]);
  return found.flatMap((mistakes, at) => mistakes.map((mistake) => placed(mistake, line, at === 0 ? module : conf, path)));
}

/**
 * The module of a `helper` line.
 * @throws ModuleLoadError
 */
export async function loadHelperModule(kind: string, module: string, prefix: string, installation: Installation): Promise<LoadedModule> {
  const loaded = await importModule(findModule(module, prefix, installation), installation);
  if (loaded.declaration.manifest.helper === kind) return loaded;
  throw new ModuleLoadError(`module "${loaded.name}" cannot be the helper "${kind}"`);
}

async function checkControl(conf: string, around: Around): Promise<void> {
  const instance = new Instance({ ...around, role: 'control', worker: -1, confFolder: dirname(conf), validates: false });
  instance.services.provide(ApiRoutes, new ControlRouter(around.log, around.installation.version));
  await compileAlone(instance, async () => {
    const { tree } = await checkConfiguration({ conf, globals: undefined }, new IdSource(), instance);
    return tree.toData();
  });
}

/** The broker has nothing to set. */
function checkEmpty(conf: string): void {
  const { directives, errors } = readConfiguration({ conf, globals: undefined }, new IdSource());
  const unknown = directives.map((directive) => errorAt(directive, `unknown directive "${directive.name}"`));
  throw new ConfigErrors([...errors, ...unknown]);
}

async function mistakesIn(check: () => unknown): Promise<readonly ConfigError[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof ModuleLoadError) return [new ConfigError(error.message, undefined, 1, error.hint)];
    const mistakes = configErrorsOf(error);
    if (!mistakes) throw error;
    return mistakes;
  }
}

function placed(mistake: ConfigError, line: Directive, word: Word, path: string): ConfigError {
  if (mistake.source !== undefined) return mistake;
  const { message, hint } = mistake;
  return errorAt(line, message.startsWith('no "events"') ? `${message} "${path}"` : message, word, hint);
}
