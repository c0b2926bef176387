import { existsSync, readFileSync } from 'node:fs';
import { printTree } from '../config/print.js';
import { IdSource, type ConfigTree } from '../config/tree.js';
import { FIGURES_SIZE } from '../http/figures.js';
import { assemble } from '../kernel/assembly.js';
import { checkConfiguration, type Configuration } from '../kernel/check-configuration.js';
import { Instance } from '../kernel/instance.js';
import { readSettings } from '../kernel/settings.js';
import { Zones } from '../zone/zones.js';
import type { Command } from './command.js';

/** A configuration that a server could be started with. */
interface TestedConfiguration extends Configuration {
  /** What would be in force: the files with the changes made by API. Undefined: the files alone. */
  readonly effective: ConfigTree | undefined;
}

/** Carries out `-t` and `-T`. Returns the exit code. */
export async function testConfiguration(command: Command): Promise<number> {
  const { paths, console, options } = command;
  const configuration = await readyConfiguration(command);
  if (!configuration) return 1;
  console.note(`the configuration file ${paths.conf} syntax is ok`);
  console.note(`configuration file ${paths.conf} test is successful`);
  if (options.dump) dump(configuration);
  return 0;
}

/** The configuration, if a server could be started with it. Else it is said why not. */
export async function readyConfiguration(command: Command): Promise<TestedConfiguration | undefined> {
  const { paths, console } = command;
  try {
    return await check(command);
  } catch (error) {
    console.report(error);
    console.advise(`configuration file ${paths.conf} test failed`);
    return undefined;
  }
}

/** Does with the configuration everything a start does, except for opening listeners. */
async function check({ paths, options, installation, console }: Command): Promise<TestedConfiguration> {
  const { log, files } = console;
  const ids = new IdSource();
  const instance = new Instance({ role: 'master', worker: -1, installation, prefix: paths.prefix, log, validates: false });
  const figures = new SharedArrayBuffer(FIGURES_SIZE);
  assemble(instance, { role: 'check', files, errorLog: console.errorLog, zones: new Zones('private'), figures, workers: 1 });
  const configuration = await checkConfiguration({ conf: paths.conf, globals: options.globals }, ids, instance);
  const effective = await withJournal(configuration, ids);
  const prepared = await instance.prepare([{ op: 'root', block: (effective ?? configuration.tree).toData() }]);
  prepared.abort();
  return { ...configuration, effective };
}

/** The configuration with the changes made by API, if there are any. */
async function withJournal({ tree, modules }: Configuration, ids: IdSource): Promise<ConfigTree | undefined> {
  const { data_folder: folder } = readSettings(tree.root, modules.args).main;
  if (!existsSync(folder)) return undefined;
  const [{ Store }, { effectiveTree }] = await Promise.all([import('../control/store.js'), import('../control/effective-tree.js')]);
  const store = Store.openReadOnly(folder);
  try {
    if (!store || store.overlay.all().length === 0) return undefined;
    return effectiveTree(tree, store, { registry: modules.registry, args: modules.args, ids }).tree;
  } finally {
    store?.close();
  }
}

/** Every file as it is, so that the whole can be taken to another place; then, if that is not all, what is in force with it. */
function dump({ files, effective }: TestedConfiguration): void {
  for (const file of files) process.stdout.write(`# configuration file ${file}:\n${readFileSync(file, 'utf8')}\n`);
  if (effective) process.stdout.write(`# effective configuration, with the changes made by API:\n${printTree(effective.root)}\n`);
}
