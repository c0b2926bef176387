import { readFileSync } from 'node:fs';
import { IdSource } from '../config/tree.js';
import { FIGURES_SIZE } from '../http/figures.js';
import { assemble } from '../kernel/assembly.js';
import { checkConfiguration, type Configuration } from '../kernel/check-configuration.js';
import { Instance } from '../kernel/instance.js';
import { Zones } from '../zone/zones.js';
import type { Command } from './command.js';

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
export async function readyConfiguration(command: Command): Promise<Configuration | undefined> {
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
async function check({ paths, options, installation, console }: Command): Promise<Configuration> {
  const { log, files } = console;
  const instance = new Instance({ role: 'master', worker: -1, installation, prefix: paths.prefix, log, validates: false });
  const figures = new SharedArrayBuffer(FIGURES_SIZE);
  assemble(instance, { role: 'check', files, errorLog: console.errorLog, zones: new Zones('private'), figures, workers: 1 });
  const configuration = await checkConfiguration({ conf: paths.conf, globals: options.globals }, new IdSource(), instance);
  const prepared = await instance.prepare([{ op: 'root', block: configuration.tree.toData() }]);
  prepared.abort();
  return configuration;
}

/** Every file as it is, so that the whole can be taken to another place. */
function dump({ files }: Configuration): void {
  for (const file of files) process.stdout.write(`# configuration file ${file}:\n${readFileSync(file, 'utf8')}\n`);
}
