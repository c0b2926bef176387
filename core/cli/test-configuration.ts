import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { exactTree, shownTree } from '../contract/print.js';
import { shownText } from '../contract/secrets.js';
import { ConfigErrors } from '../config/errors.js';
import { GrantedFiles } from '../config/granted-files.js';
import { ConfigTree, IdSource } from '../config/tree.js';
import type { Effective } from '../changes/effective-tree.js';
import { assertHeapRoom, workerHeapSize } from '../changes/heap-room.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { assemble } from '../kernel/assembly.js';
import type { Configuration } from '../kernel/check-configuration.js';
import { checkWithHelpers } from '../kernel/helper-configurations.js';
import { CALL_MS } from '../kernel/call-limit.js';
import { findModules } from '../kernel/find-module.js';
import { loadModuleLines } from '../kernel/load-modules.js';
import type { ParsedText } from '../config/parser.js';
import { Instance } from '../kernel/instance.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { readSettings } from '../kernel/settings.js';
import { ZoneSet } from '../zone/zone-set.js';
import type { ServerCommand } from './command.js';
import { leaveLogsToServer } from './leave-logs.js';
import { TerminalLog } from './terminal-log.js';
import { namedFiles } from './named-files.js';
import { includeFolder } from './paths.js';
import { readForUser } from './prepared-files.js';
import { asUser } from '../parent/as-user.js';
import { userOf } from './user.js';
import { assertUserAccess, unreachableFolders } from './user-access.js';

/** A configuration that a server could be started with. */
interface TestedConfiguration extends Configuration {
  /** The configuration of a start: the files with what `state` files hold and the changes made by API. */
  readonly effective: Effective;
}

/**
 * Carries out `-t` and `-T`. Returns the exit code.
 * @param callMs longest time that a hook of a module may take
 */
export async function testConfiguration(command: ServerCommand, callMs?: number): Promise<number> {
  const { paths, console, options } = command;
  const configuration = await readyConfiguration(command, callMs);
  if (!configuration) return 1;
  console.note(`the configuration file ${paths.conf} syntax is ok`);
  console.note(`configuration file ${paths.conf} test is successful`);
  if (options.dump) dump(configuration, console.print);
  return 0;
}

/** The configuration, if a server could be started with it. Else it is said why not. */
export async function readyConfiguration(command: ServerCommand, callMs?: number): Promise<TestedConfiguration | undefined> {
  const { paths, console } = command;
  try {
    return await check(command, callMs);
  } catch (error) {
    console.report(error);
    console.advise(`configuration file ${paths.conf} test failed`);
    return undefined;
  }
}

/** Does with the configuration everything a start does, except for opening listeners. */
async function check({ paths, options, installation, console }: ServerCommand, callMs = CALL_MS): Promise<TestedConfiguration> {
  const { files } = console;
  const log = options.signal === undefined ? console.log : new TerminalLog(console);
  // A start reads it again, and logs it then.
  const warn = (message: string): void => (options.test ? console.complain('warn', message) : console.advise(`[warn] ${message}`));
  const ids = new IdSource();
  const { prefix, conf } = paths;
  const instance = new Instance({
    role: 'master',
    worker: -1,
    installation,
    prefix,
    confFolder: dirname(conf),
    log,
    validates: false,
    warn,
    callMs,
  });
  const figures = new SharedArrayBuffer(FIGURES_SIZE);
  assemble(instance, { role: 'check', files, errorLog: console.errorLog, zones: new ZoneSet('private'), figures, workers: 1 });
  const parsed = readConfiguration({ conf: paths.conf, globals: options.globals }, ids);
  try {
    const configuration = await checkWithHelpers(parsed, instance);
    const effective = await withJournal(configuration, ids);
    for (const line of effective.warnings) warn(line);
    const prepared = await instance.prepare([{ op: 'root', block: [] }], { after: effective.tree });
    prepared.abort();
    const { main } = readSettings(effective.tree.root, configuration.modules.args);
    assertHeapRoom(ConfigTree.empty, effective.tree, [], workerHeapSize(main.worker_heap_size));
    for (const line of assertReadable(parsed, configuration.tree, { paths, installation, options })) warn(line);
    return { ...configuration, effective };
  } finally {
    leaveLogsToServer(files, parsed);
  }
}

/** Checks the files that the server will read as another user. @returns warnings @throws ConfigErrors */
function assertReadable(
  parsed: ParsedText,
  tree: ConfigTree,
  { paths, installation, options }: Pick<ServerCommand, 'paths' | 'installation' | 'options'>,
): readonly string[] {
  const owner = userOf(parsed);
  if (owner === undefined) return [];
  const { prefix, errorLog } = paths;
  const named = namedFiles(parsed, { prefix, conf: includeFolder(paths) }, { errorLog, installation });
  const modules = loadModuleLines(tree.root).flatMap(({ args: [name] }) => (name ? findModules(name.text, prefix, installation) : []));
  assertUserAccess(named, modules, installation, owner);
  const granted = new GrantedFiles(readForUser(named, owner));
  const { errors } = asUser(owner, () => readConfiguration({ conf: paths.conf, globals: options.globals, granted }, new IdSource()));
  if (errors.length > 0) throw new ConfigErrors(errors);
  return unreachableFolders(named, owner);
}

/** The configuration with what `state` files hold and the API changed. */
async function withJournal({ tree, modules }: Configuration, ids: IdSource): Promise<Effective> {
  const { registry, args } = modules;
  const [{ Store }, { effectiveTree }] = await Promise.all([import('../changes/store.js'), import('../changes/effective-tree.js')]);
  const { data_folder: dataFolder, helper } = readSettings(tree.root, args).main;
  if (helper.length > 0) Store.assertUsable(dataFolder);
  const store = Store.openReadOnly(dataFolder);
  try {
    return effectiveTree(tree, store, { registry, args, ids, dataFolder });
  } finally {
    store?.close();
  }
}

/** Every file as it is, but without private keys, so that the whole can be shown to others; then, if that is not all, the current configuration with it. */
function dump({ files, tree, effective }: TestedConfiguration, print: (text: string) => void): void {
  for (const file of files) print(`# configuration file ${file}:\n${shownText(readFileSync(file, 'utf8'))}\n`);
  if (exactTree(effective.tree.root) === exactTree(tree.root)) return;
  print(`# effective configuration, with the changes made by API:\n${shownTree(effective.tree.root)}\n`);
  if (effective.drift.length === 0) return;
  print(`# difference between the files and the effective configuration:\n${effective.drift.map((line) => `# ${line}\n`).join('')}`);
}
