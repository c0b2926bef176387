import { release, type } from 'node:os';
import { dirname } from 'node:path';
import { ConfigTree, type IdSource } from '../config/tree.js';
import { encodeTree } from '../config/tree-codec.js';
import type { Parsed } from '../config/parser.js';
import { effectiveTree } from '../control/effective-tree.js';
import type { Transact } from '../control/action-server.js';
import { assertHeapRoom, workerHeapSize } from '../control/heap-room.js';
import { MasterKeyValue } from '../control/key-value.js';
import { tellOfChange, type CommittedChange } from '../control/change-event.js';
import { EventRecord } from '../control/event-record.js';
import { HTTP_SERVERS } from '../http/site/settings.js';
import { StreamServers, StreamUpstreams } from '../module/stream-servers.js';
import { STREAM_SERVERS } from '../stream/site/stream-listens.js';
import { StagedServers } from '../control/staged-servers.js';
import { StagedUpstreams } from '../control/staged-upstreams.js';
import { StoredAddresses } from '../control/found-table.js';
import { toldEverywhere } from '../control/in-force.js';
import { Staging } from '../control/staging.js';
import { Store } from '../control/store.js';
import { explained } from '../control/store-error.js';
import { TransactionQueue } from '../control/transactions.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { assemble, type Assembly } from '../kernel/assembly.js';
import type { MainConf } from '../kernel/core-directives.js';
import { checkWithHelpers } from '../kernel/helper-configurations.js';
import type { Installation } from '../kernel/installation.js';
import { Resolver } from '../net/dns/resolver.js';
import type { Crew } from '../upstream/discovery/discovered-members.js';
import { Discovery } from '../upstream/discovery/discovery.js';
import { Instance } from '../kernel/instance.js';
import { moduleCode } from '../kernel/module-code.js';
import { newSecret } from '../kernel/server-info.js';
import { loadModuleLines } from '../kernel/load-modules.js';
import { readConfiguration, type ConfigurationSource } from '../kernel/read-configuration.js';
import { readSettings } from '../kernel/settings.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { EventLog } from '../module/events.js';
import { ConfigurationHistory } from '../module/history.js';
import { ServerStatus } from '../module/server-status.js';
import { KeyValue, Transactions, Upstreams } from '../module/services.js';
import { VirtualServers } from '../module/virtual-servers.js';
import { StoredHistory } from '../control/configuration-history.js';
import type { WorkerStart, WorkerState } from '../worker/protocol.js';
import { ZoneSet } from '../zone/zone-set.js';
import { ControlLink } from './control-link.js';
import type { HelperStart } from '../helper/helper-start.js';
import { HelperSet } from './helper-set.js';
import { MasterStatus } from './status.js';
import { removePidFile, writePidFile } from './pid-file.js';
import { dropPrivileges } from './privileges.js';
import { applyProcessSettings } from './process-settings.js';
import { WorkerPool } from './worker-pool.js';

export interface MasterOptions {
  readonly installation: Installation;
  readonly prefix: string;
  readonly source: ConfigurationSource;
  readonly ids: IdSource;
  /** Workers that shared state has places for. */
  readonly workers: number;
  readonly errorLog: string;
  readonly log: ErrorLog;
  readonly files: AppendedLogFiles;
  /** Says why a configuration is refused. */
  readonly report: (failure: unknown) => void;
}

/** The main thread of a server: configuration, worker threads, helper processes. */
export class Master {
  readonly #instance: Instance;
  readonly #assembly: Assembly;
  readonly #zones = new ZoneSet('create');
  readonly #staging = new Staging();
  readonly #figures = new SharedArrayBuffer(FIGURES_SIZE);
  readonly #workers: WorkerPool;
  readonly #helpers: HelperSet;
  readonly #link: ControlLink;
  readonly #events = new EventRecord();
  readonly #status: MasterStatus;
  #store: Store | undefined;
  #transactions: TransactionQueue | undefined;
  #history: StoredHistory | undefined;
  #keyValue: MasterKeyValue | undefined;
  #pidFile: string | undefined;
  #running = false;
  readonly #secret = newSecret();
  #ending: 'no' | 'gracefully' | 'now' = 'no';

  constructor(private readonly options: MasterOptions) {
    const { installation, prefix, source, log, files, errorLog, workers } = options;
    const identity = { role: 'master', worker: -1, installation, prefix, confFolder: dirname(source.conf), secret: this.#secret } as const;
    this.#instance = new Instance({ ...identity, log, validates: true });
    this.#instance.services.provideLater(Transactions, () => this.#transactions);
    this.#instance.services.provideLater(ConfigurationHistory, () => this.#history);
    this.#instance.services.provideLater(KeyValue, () => this.#keyValue);
    const shared = { zones: this.#zones, figures: this.#figures, workers };
    const discovery = new Discovery({ log, resolver: (settings) => new Resolver(settings, log) });
    this.#assembly = assemble(this.#instance, { role: 'master', files, errorLog, ...shared, events: this.#events, discovery });
    this.#showStaged();
    this.#instance.services.provide(EventLog, this.#events);
    this.#helpers = new HelperSet(log, this.#events);
    const transact: Transact = (calls, context) => this.#queue.together(calls, context);
    this.#link = new ControlLink(log, this.#events, transact, this.#instance);
    this.#workers = new WorkerPool({
      log,
      events: this.#events,
      zones: this.#zones,
      places: workers,
      release: (place) => this.#assembly.dropWorker(place),
      requestsOf: (place) => this.#assembly.requestsOf(place),
      heapSize: () => this.#heapSize(),
      joining: (join) => this.#queue.between(join),
      start: (index, place) => this.#workerStart(index, place),
      state: () => this.#workerState(),
    });
    this.#status = new MasterStatus(this.#workers, this.#helpers, this.#zones);
    this.#instance.services.provide(ServerStatus, this.#status);
  }

  get main(): MainConf {
    return this.#instance.settings.main;
  }

  /** It was told to end. */
  get ending(): boolean {
    return this.#ending !== 'no';
  }

  get helpers(): HelperSet {
    return this.#helpers;
  }

  /** Where the server listens. */
  get addresses(): readonly string[] {
    return this.#assembly.addresses();
  }

  /**
   * Brings the server up: resolves when every listener is open and the pid file is there.
   * @param parsed the configuration as it was read
   * @throws ConfigErrors, or what else kept it from starting; {@link stop} cleans up then
   */
  async start(parsed: Parsed): Promise<void> {
    const { log, files, installation } = this.options;
    const commitJournal = await this.#bringIntoForce(parsed);
    this.#assembly.discover(this.#crew);
    const { main } = this;
    log.write('notice', `srv/${installation.version}, Node.js ${process.versions.node}`);
    log.write('notice', `OS: ${type()} ${release()}`);
    applyProcessSettings(main, log);
    await this.#workers.start(this.#workerCount());
    try {
      commitJournal();
    } catch (error) {
      throw explained(error, main.data_folder);
    }
    this.#followPidFile();
    const owned = { paths: [main.data_folder, main.pid, ...files.paths.all], folders: this.#assembly.temporaryFolders() };
    dropPrivileges(main.user, owned, log);
    this.#running = true;
    files.keepsUnused = false;
    await this.#instance.start();
    this.#events.publish('server.started', { srv: installation.version, version: this.#queue.version });
    await this.#followHelpers();
  }

  /** Brings the configuration file into force as it is now. If it cannot, everything stays as it was and the reasons are logged. */
  async reload(): Promise<void> {
    const { log, source, ids, report } = this.options;
    log.write('notice', 'reconfiguring');
    for (const file of moduleCode.changed()) log.write('warn', `"${file}" has changed since it was loaded: restart to run it`);
    // That of the old configuration, as in nginx, whose old workers know no other.
    const timeout = this.main.worker_shutdown_timeout;
    try {
      await this.#queue.reload(() => checkWithHelpers(readConfiguration(source, ids), this.#instance));
      this.#status.reloaded();
      if (this.ending) return;
      this.#limitOldRequests(timeout);
      await this.#workers.resize(this.#workerCount(), timeout);
      this.#movePidFile();
      await this.#followHelpers();
      this.#helpers.reload();
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
  }

  /** Shuts down gracefully: ends when no request is in progress, or when worker_shutdown_timeout is over. */
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
    this.#events.close();
    await this.#link.close();
    await this.#helpers.stop();
    await this.#instance.stop();
    await this.#transactions?.close();
    this.#keyValue?.close();
    this.#store?.close();
    if (this.#pidFile !== undefined) this.#removePidFile(this.#pidFile);
    if (this.#running) this.options.log.write('notice', 'exit');
    this.options.files.flush();
  }

  get #queue(): TransactionQueue {
    if (!this.#transactions) throw new Error('the server has not read its configuration yet');
    return this.#transactions;
  }

  /** How members that were found come into force. */
  get #crew(): Crew {
    return {
      inTurn: (step) => this.#queue.between(step),
      tell: (channel, data) => toldEverywhere(this.#workers.participants, (participant) => participant.publish(channel, data)),
    };
  }

  /** The first configuration: the file with what the journal adds to it. Returns what keeps the journal's side once the server runs. */
  async #bringIntoForce(parsed: Parsed): Promise<() => void> {
    const { ids, log, source } = this.options;
    const { tree: file, modules } = await checkWithHelpers(parsed, this.#instance);
    const { data_folder: folder, helper } = readSettings(file.root, modules.args).main;
    // Without helpers there is no API: what would be kept are numbers that nobody sees.
    const unusable = (reason: string): void => log.write('notice', `API changes cannot be stored: ${reason}`);
    this.#store = helper.length > 0 ? Store.open(folder) : Store.openIfUsable(folder, unusable);
    this.#assembly.remember(new StoredAddresses(this.#store));
    const participants = (): WorkerPool['participants'] => this.#workers.participants;
    const heapSize = (): number => this.#heapSize();
    const { prefix, confFolder, installation } = this.#instance.options;
    const folders = [prefix, confFolder, installation.root];
    const onCommitted = (change: CommittedChange): void => tellOfChange(this.#events, change);
    const queue = new TransactionQueue({
      instance: this.#instance,
      store: this.#store,
      staging: this.#staging,
      files: { conf: source.conf, read: (texts) => readConfiguration(source, ids, texts) },
      participants,
      ids,
      log,
      heapSize,
      folders,
      onCommitted,
    });
    this.#transactions = queue;
    this.#history = new StoredHistory(this.#store, queue);
    this.#keyValue = new MasterKeyValue(this.#store, participants, log, heapSize, this.#staging);
    const effective = effectiveTree(file, this.#store, { registry: modules.registry, args: modules.args, ids });
    const { tree: after, operations } = effective;
    const prepared = await this.#instance.prepare([{ op: 'root', block: [] }], { after, validated: { tree: file, operations } });
    prepared.commit();
    assertHeapRoom(ConfigTree.empty, effective.tree, [], heapSize());
    return () => queue.started(effective);
  }

  /** Modules that change the configuration see what the calls before theirs have made of it. */
  #showStaged(): void {
    const { services } = this.#instance;
    services.provide(Upstreams, new StagedUpstreams(services.get(Upstreams), 'http', this.#staging));
    services.provide(StreamUpstreams, new StagedUpstreams(services.get(StreamUpstreams), 'stream', this.#staging));
    const args = () => this.#instance.modules.args;
    services.provide(VirtualServers, new StagedServers(services.get(VirtualServers), HTTP_SERVERS, this.#staging, args));
    services.provide(StreamServers, new StagedServers(services.get(StreamServers), STREAM_SERVERS, this.#staging, args));
  }

  /** In nginx workers of the old configuration end with worker_shutdown_timeout; here it is the requests that began under it. */
  #limitOldRequests(timeout: number | undefined): void {
    const reloadedAt = Date.now();
    if (timeout !== undefined) setTimeout(() => this.#workers.cutOff(reloadedAt), timeout).unref();
  }

  /** Writes the pid file, and removes the one that it had before a reload. */
  #followPidFile(): void {
    const [before, now] = [this.#pidFile, this.main.pid];
    if (before === now) return;
    writePidFile(now);
    this.#pidFile = now;
    if (before !== undefined) this.#removePidFile(before);
  }

  #removePidFile(path: string): void {
    if (!removePidFile(path))
      this.options.log.write('error', `cannot remove pid file "${path}" (no permission on its directory), truncated instead`);
  }

  /** As {@link #followPidFile}, when it is too late to refuse. */
  #movePidFile(): void {
    try {
      this.#followPidFile();
    } catch (error) {
      this.options.log.write('emerg', `the pid file stays "${this.#pidFile}": ${(error as Error).message}`);
    }
  }

  #workerCount(): number {
    const { worker_processes: wanted } = this.main;
    const { workers: places, log } = this.options;
    if (wanted > places) log.write('warn', `worker_processes ${wanted} exceeds the ${places} slots reserved at start; restart to raise it`);
    return Math.min(wanted, places);
  }

  #heapSize(): number {
    return workerHeapSize(this.main.worker_heap_size);
  }

  #workerStart(index: number, place: number): WorkerStart {
    const {
      prefix,
      source: { conf },
      errorLog,
      workers,
    } = this.options;
    return {
      index,
      place,
      prefix,
      confFolder: dirname(conf),
      errorLog,
      modules: loadModuleLines(this.#instance.tree.root).map(({ id, name, args, source }) => ({ id, name, args, source })),
      code: moduleCode.files,
      figures: this.#figures,
      workers,
      secret: this.#secret,
    };
  }

  #workerState(): WorkerState {
    return {
      tree: encodeTree(this.#instance.tree.root),
      files: this.#instance.files.inForce,
      zones: this.#zones.shares(),
      snapshots: this.#keyValue ? [{ channel: this.#keyValue.channel, snapshot: this.#keyValue.snapshot() }] : [],
    };
  }

  async #followHelpers(): Promise<void> {
    const { prefix, errorLog } = this.options;
    const lines = this.main.helper;
    if (lines.length > 0) this.#store?.keep();
    const bus = lines.length === 0 ? '' : await this.#link.open(this.main.data_folder, this.#instance.modules);
    this.#helpers.follow(lines.map(({ kind, module, conf }): HelperStart => ({ kind, module, conf, prefix, errorLog, bus })));
  }
}
