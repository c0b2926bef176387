import { dirname, resolve } from 'node:path';
import { threadId } from 'node:worker_threads';
import { IdSource } from '../config/tree.js';
import { effectiveTree } from '../changes/effective-tree.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { assemble } from '../kernel/assembly.js';
import { checkParsed } from '../kernel/check-configuration.js';
import type { Installation } from '../kernel/installation.js';
import { Instance } from '../kernel/instance.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { readSettings } from '../kernel/settings.js';
import { ErrorLog } from '../log/error-log.js';
import { UnwrittenLogFiles } from '../log/unwritten-log-files.js';
import { Explainer } from '../contract/explain.js';
import type { HostLookup } from '../upstream/host-lookup.js';
import { ZoneSet } from '../zone/zone-set.js';
import { Console } from './console.js';
import { pathsOf } from './paths.js';
import type { Subcommand } from './subcommands.js';

/** No name is looked up: members are shown by their names. */
const UNKNOWN: HostLookup = () => Promise.resolve(['0.0.0.0']);

/** Where a command writes to. */
export interface Output {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** A configuration that requests can be explained with. */
export interface ExplainedConfiguration {
  readonly explainer: Explainer;
  end(): Promise<void>;
}

/**
 * Compiles a configuration as a start does. Opens no address, log or zone, asks no name server, and leaves what a running server has alone.
 * Undefined: it has errors, which were reported.
 */
export async function readExplained(
  { prefix, conf, globals }: Subcommand,
  installation: Installation,
  output: Output,
): Promise<ExplainedConfiguration | undefined> {
  const options = { ...NO_OPTIONS, prefix, conf, globals };
  const paths = pathsOf(options, installation);
  const files = new UnwrittenLogFiles(output.stderr);
  const console = new Console('stderr', paths.prefix, true, output.stderr, files);
  const log = new ErrorLog(files, `${process.pid}#${threadId}`, [{ path: 'stderr', level: 'crit' }]);
  const instance = new Instance({
    role: 'master',
    worker: -1,
    installation,
    prefix: paths.prefix,
    confFolder: dirname(paths.conf),
    log,
    validates: false,
    // "srv -t" has them.
    warn: () => undefined,
  });
  const memory = { zones: new ZoneSet('private'), figures: new SharedArrayBuffer(FIGURES_SIZE), workers: 1 };
  assemble(instance, { role: 'explain', files, errorLog: 'stderr', lookup: UNKNOWN, ...memory });
  try {
    const ids = new IdSource();
    const parsed = readConfiguration({ conf: paths.conf, globals }, ids);
    const { tree, modules } = await checkParsed(parsed, instance);
    const { registry, args } = modules;
    const { data_folder: dataFolder } = readSettings(tree.root, args).main;
    const after = effectiveTree(tree, undefined, { registry, args, ids, dataFolder: resolve(dataFolder) }).tree;
    const prepared = await instance.prepare([{ op: 'root', block: [] }], { after });
    prepared.commit();
    return { explainer: instance.services.get(Explainer), end: () => instance.stop() };
  } catch (error) {
    console.report(error);
    await instance.stop();
    return undefined;
  }
}

const NO_OPTIONS = {
  help: false,
  version: false,
  build: false,
  test: false,
  dump: false,
  quiet: true,
  signal: undefined,
  errorLog: 'stderr',
} as const;
