/**
 * The configurations that `helper` lines name, checked with the one that names them: a helper with an error in its own would be started
 * again and again, and the server would have no API.
 */
import { dirname, resolve } from 'node:path';
import { ConfigError, ConfigErrors, configErrorsOf, errorAt } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { ParsedText } from '../config/parser.js';
import { IdSource, type DirectiveData } from '../config/tree.js';
import type { ControlManifest } from '../contract/manifest.js';
import { ApiRoutes } from '../contract/api-routes.js';
import type { Directive, Word } from '../contract/tree.js';
import { checkConfiguration, checkParsed, type Configuration } from './check-configuration.js';
import { compileAlone } from './compile-alone.js';
import { Instance } from './instance.js';
import type { InstanceOptions } from './instance-options.js';
import type { ModuleSet } from './module-set.js';
import { ModuleLoadError } from './module-load-error.js';
import { helperFile } from './helper-file.js';
import { loadHelperModule } from './helper-module.js';
import { readConfiguration } from './read-configuration.js';

const OPEN_TO_USERS =
  'the API requires no authentication, and the server runs as root: every user of this machine may change its configuration; set "user", or "api_tokens" in the configuration of the control plane';

type Around = Pick<InstanceOptions, 'log' | 'prefix' | 'installation' | 'granted'>;

/** Findings about one `helper` line. */
interface Checked {
  readonly errors: readonly ConfigError[];
  /** Every file of its configuration. */
  readonly files: readonly string[];
  /** It has an API that every user of this machine may change the configuration with. */
  readonly isOpen: boolean;
  /** Modules whose calls another one carries out, in the data plane. */
  readonly partners: readonly Partner[];
}

/** A module of the control plane. */
interface Partner {
  readonly name: string;
  /** Undefined: loaded by default. */
  readonly line: Directive | undefined;
  /** Name of the module in the data plane. */
  readonly dataModule: string;
}

const NOTHING: Checked = { errors: [], files: [], isOpen: false, partners: [] };

/**
 * As {@link checkParsed}, together with the configurations of the helpers, whose files are among those of the result.
 * @throws ConfigErrors with the errors of all of them
 */
export async function checkWithHelpers(parsed: ParsedText, instance: Instance): Promise<Configuration> {
  const collector = new ErrorCollector();
  const configuration = await checkParsed(parsed, instance).catch((error: unknown) => collector.add(error));
  const lines = parsed.directives.filter(({ name }) => name === 'helper');
  const helpers = await Promise.all(lines.map((line) => checkHelper(line, instance.options)));
  for (const error of helpers.flatMap((helper) => helper.errors)) collector.add(error);
  if (collector.size > 0) instance.discardLoaded();
  collector.throwIfAny();
  if (helpers.some(({ isOpen }) => isOpen) && staysRoot(parsed)) instance.warn(OPEN_TO_USERS);
  const { tree, modules, files } = configuration as Configuration;
  for (const partner of helpers.flatMap(({ partners }) => partners))
    if (!modules.set.has(partner.dataModule)) instance.warn(loneText(partner));
  return { tree, modules, files: [...new Set([...files, ...helpers.flatMap((helper) => helper.files)])] };
}

/** The server runs as root, and goes on to. */
function staysRoot({ directives }: ParsedText): boolean {
  const [name] = directives.find((line) => line.name === 'user')?.args ?? [];
  return process.getuid?.() === 0 && (name === undefined || name.text === 'root');
}

/** An error without a place of its own gets that of the `helper` line. */
async function checkHelper(line: DirectiveData, around: Around): Promise<Checked> {
  const [kind, module, conf] = line.args;
  // Too few words are the main configuration's own error.
  if (kind === undefined || module === undefined || conf === undefined) return NOTHING;
  const path = helperFile(resolve(around.prefix, conf.text), around);
  const read: Partial<Omit<Checked, 'errors'>>[] = [];
  const check = kind.text === 'ctrl' ? checkControl : checkEmpty;
  const found = await Promise.all([
    errorsIn(() => loadHelperModule(kind.text, module.text, around.prefix, around.installation)),
    errorsIn(async () => read.push(await check(path, around))),
  ]);
  const errors = found.flatMap((some, at) => some.map((error) => placed(error, line, at === 0 ? module : conf, path)));
  return { ...NOTHING, ...read[0], errors };
}

/** @throws ConfigErrors */
async function checkControl(conf: string, around: Around): Promise<Omit<Checked, 'errors'>> {
  // Its schemas take long to load: only a start with a control plane needs them.
  const { ControlRouter } = await import('../api/router.js');
  const instance = new Instance({ ...around, role: 'control', worker: -1, confFolder: dirname(conf), validates: false });
  const router = new ControlRouter(around.log, around.installation.version);
  instance.services.provide(ApiRoutes, router);
  instance.follow({ prepare: ({ modules }) => router.prepare(modules) });
  let read: readonly string[] = [];
  let partners: readonly Partner[] = [];
  await compileAlone(instance, async () => {
    const { tree, files, modules } = await checkConfiguration(
      { conf, globals: undefined, granted: around.granted },
      new IdSource(),
      instance,
    );
    read = files;
    partners = [...partnersIn(modules.set)];
    return tree.toData();
  });
  return { files: read, isOpen: router.isOpenToUsers, partners };
}

function* partnersIn(modules: ModuleSet): Generator<Partner> {
  for (const module of modules) {
    const {
      name,
      settings,
      dataModule = settings === undefined ? undefined : name,
    } = module.declaration.manifest as Partial<ControlManifest>;
    if (dataModule !== undefined) yield { name: module.name, line: modules.lineOf(module), dataModule };
  }
}

/** A call of such a module is 501: everything else works, so it is not an error. */
function loneText({ name, line, dataModule }: Partner): string {
  const place = line === undefined ? '' : ` in ${line.source.file}:${line.source.line}`;
  return `calls of "${name}" will fail, because the data plane lacks a module: add "load_module modules/${dataModule}.so;" to its configuration${place}`;
}

/** As {@link checkControl}, for the broker: it has nothing to set. */
function checkEmpty(conf: string, { granted }: Around): Pick<Checked, 'files'> {
  const { directives, errors, files } = readConfiguration({ conf, globals: undefined, granted }, new IdSource());
  const unknown = directives.map((directive) => errorAt(directive, `unknown directive "${directive.name}"`));
  const all = [...errors, ...unknown];
  if (all.length > 0) throw new ConfigErrors(all);
  return { files };
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
