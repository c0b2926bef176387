import { release, totalmem, type } from 'node:os';
import { diffTrees } from '../config/diff.js';
import { IdSource } from '../config/tree.js';
import { FIGURES_SIZE } from '../http/figures.js';
import { assemble, type Assembly } from '../kernel/assembly.js';
import { checkConfiguration } from '../kernel/check-configuration.js';
import type { MainConf } from '../kernel/core-directives.js';
import type { Installation } from '../kernel/installation.js';
import { Instance } from '../kernel/instance.js';
import type { ConfigurationSource } from '../kernel/read-configuration.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import type { WorkerStart } from '../worker/protocol.js';
import { Zones } from '../zone/zones.js';
import { ChangeQueue } from './change-queue.js';
import type { HelperStart } from './helper-start.js';
import { HelperSet } from './helper-set.js';
import { removePidFile, writePidFile } from './pid-file.js';
import { dropPrivileges } from './privileges.js';
import { applyProcessSettings } from './process-settings.js';
import { WorkerPool } from './worker-pool.js';

export interface MasterOptions {
  readonly installation: Installation;
  readonly prefix: string;
  readonly source: ConfigurationSource;
  readonly errorLog: string;
  readonly log: ErrorLog;
  readonly files: AppendedLogFiles;
  /** Says why a configuration is refused. */
  readonly report: (failure: unknown) => void;
}

const MEGABYTE = 1024 * 1024;
/** A worker's heap may take half of the machine's memory, but no more than V8 works well with. */
const MOST_HEAP_MB = 4096;

/** The main thread of a server: configuration, worker threads, helper processes. */
export class Master {
  readonly #instance: Instance;
  readonly #assembly: Assembly;
  readonly #zones = new Zones('create');
  readonly #figures = new SharedArrayBuffer(FIGURES_SIZE);
  readonly #ids = new IdSource();
  readonly #changes: ChangeQueue;
  readonly #workers: WorkerPool;
  readonly #helpers: HelperSet;
  #pidFile: string | undefined;
  #ending: 'no' | 'gracefully' | 'now' = 'no';

  constructor(private readonly options: MasterOptions) {
    const { installation, prefix, log, files, errorLog } = options;
    this.#instance = new Instance({ role: 'master', worker: -1, installation, prefix, log, validates: true });
    this.#assembly = assemble(this.#instance, { files, errorLog, zones: this.#zones, figures: this.#figures });
    this.#changes = new ChangeQueue(this.#instance, () => this.#workers.participants);
    this.#helpers = new HelperSet(log);
    this.#workers = new WorkerPool({
      log,
      zones: this.#zones,
      heapLimitMb: () => this.#heapLimitMb(),
      joining: (create) => this.#changes.exclusively(create),
      start: (index) => this.#workerStart(index),
    });
  }

  get main(): MainConf {
    return this.#instance.settings.main;
  }

  /** Where the server listens. */
  get addresses(): readonly string[] {
    return this.#assembly.addresses();
  }

  /**
   * Brings the server up: resolves when every listener is open and the pid file is there.
   * @throws ConfigErrors, or what else kept it from starting; {@link stop} cleans up then
   */
  async start(): Promise<void> {
    const { log, installation, source } = this.options;
    const { tree } = await checkConfiguration(source, this.#ids, this.#instance);
    await this.#changes.apply(() => [{ op: 'root', block: tree.toData() }]);
    const { main } = this;
    log.write('notice', `srv/${installation.version}, Node.js ${process.versions.node}`);
    log.write('notice', `OS: ${type()} ${release()}`);
    applyProcessSettings(main, log);
    log.write('notice', 'start worker threads');
    await this.#workers.resize(main.worker_processes);
    dropPrivileges(main.user, log);
    await this.#instance.start();
    this.#pidFile = main.pid;
    writePidFile(main.pid);
    this.#helpers.follow(this.#helperStarts());
  }

  /** Brings the configuration file into force as it is now. If it cannot, everything stays as it was and the reasons are logged. */
  async reload(): Promise<void> {
    const { log, source, report } = this.options;
    log.write('notice', 'reconfiguring');
    try {
      const { tree, modules } = await checkConfiguration(source, this.#ids, this.#instance);
      await this.#changes.apply(() => diffTrees(this.#instance.tree, tree, modules.registry));
      await this.#workers.resize(this.main.worker_processes, this.main.worker_shutdown_timeout);
      this.#helpers.follow(this.#helperStarts());
      log.write('notice', 'reconfigured');
    } catch (error) {
      report(error);
      log.write('error', 'the configuration in force stays as it was');
    }
  }

  reopenLogs(): void {
    const { files, log } = this.options;
    log.write('notice', 'reopening logs');
    for (const failure of files.reopen()) log.write('emerg', failure.message);
    this.#workers.reopenLogs();
    this.#helpers.reopenLogs();
  }

  /** Ends the workers gracefully and stays; a reload starts them again. */
  async endWorkers(): Promise<void> {
    await this.#workers.quit(this.main.worker_shutdown_timeout);
    this.#workers.reopen();
  }

  /** Ends when every request is answered, or when worker_shutdown_timeout is over. */
  async quit(): Promise<void> {
    if (this.#ending !== 'no') return;
    this.#ending = 'gracefully';
    await this.#workers.quit(this.main.worker_shutdown_timeout);
    await this.stop();
  }

  /** Ends now. Also after half a start. */
  async stop(): Promise<void> {
    if (this.#ending === 'now') return;
    this.#ending = 'now';
    await this.#workers.stop();
    await this.#helpers.stop();
    await this.#instance.stop();
    if (this.#pidFile !== undefined) removePidFile(this.#pidFile);
    this.options.log.write('notice', 'exit');
    this.options.files.flush();
  }

  #heapLimitMb(): number {
    const { worker_heap_size: configured } = this.main;
    if (configured !== undefined) return Math.ceil(configured / MEGABYTE);
    return Math.min(Math.floor(totalmem() / 2 / MEGABYTE), MOST_HEAP_MB);
  }

  #workerStart(index: number): WorkerStart {
    const { prefix, errorLog } = this.options;
    return {
      index,
      prefix,
      errorLog,
      tree: this.#instance.tree.toData(),
      zones: this.#zones.shares(),
      figures: this.#figures,
      snapshots: [],
    };
  }

  #helperStarts(): readonly HelperStart[] {
    const { prefix, errorLog } = this.options;
    return this.main.helper.map(({ kind, module, conf }) => ({ kind, module, conf, prefix, errorLog, bus: '' }));
  }
}
