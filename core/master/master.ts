import { ZoneMetrics } from '../zone/metrics.js';
import { release, type } from 'node:os';
import { dirname } from 'node:path';
import type { CarriedState } from '../zone/carried-state.js';
import type { ParsedText } from '../config/parser.js';
import { EventRecord } from '../api/event-record.js';
import { StoredAddresses } from '../changes/found-table.js';
import { toldEverywhere } from '../changes/in-force.js';
import { Staging } from '../changes/staging.js';
import { explained } from '../changes/store-error.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { assemble, type Assembly } from '../kernel/assembly.js';
import type { MainConf } from '../kernel/core-directives.js';
import { ControlListeners } from '../net/control-listeners.js';
import { Dialer } from '../net/dialer.js';
import { Resolver, type ResolverOptions } from '../net/dns/resolver.js';
import type { Crew } from '../upstream/discovery/discovered-members.js';
import { Discovery } from '../upstream/discovery/discovery.js';
import { MasterChannels } from '../kernel/channel-hub.js';
import { Instance } from '../kernel/instance.js';
import { outdatedCode } from '../kernel/outdated-code.js';
import { newSecret } from '../kernel/server-info.js';
import { Cluster } from '../contract/cluster.js';
import { EventLog } from '../contract/events.js';
import { ConfigurationHistory } from '../contract/history.js';
import { ServerInfo } from '../contract/server-info.js';
import { ServerStatus } from '../contract/server-status.js';
import { KeyValue } from '../contract/key-value.js';
import { Transactions } from '../contract/transactions.js';
import { ModuleStorages } from '../changes/module-storage.js';
import { ZoneSet } from '../zone/zone-set.js';
import { ControlProcesses } from './control-processes.js';
import type { HelperSet } from './helper-set.js';
import type { MasterOptions } from './master-options.js';
import { showStaged } from './staged-services.js';
import { NodeCluster } from './node-cluster.js';
import { MasterStatus } from './status.js';
import { ProcessFiles } from './process-files.js';
import { ReloadRecord } from './reload-record.js';
import { Takeover } from './takeover.js';
import { Upgrade } from './upgrade.js';
import { applyProcessSettings, warnOfUser } from './process-settings.js';
import { StoredConfiguration } from './stored-configuration.js';
import { WorkerSupply } from './worker-supply.js';
import { WorkerPool } from './worker-pool.js';
import { ZoneSharing } from './zone-sharing.js';

/** The main thread of a server: configuration, worker threads, helper processes. */
export class Master {
  readonly #instance: Instance;
  readonly #assembly: Assembly;
  readonly #zones = new ZoneSet('create');
  readonly #staging = new Staging();
  readonly #figures = new SharedArrayBuffer(FIGURES_SIZE);
  readonly #controlListeners = new ControlListeners();
  readonly #workers: WorkerPool;
  readonly #supply: WorkerSupply;
  readonly #control: ControlProcesses;
  readonly #events = new EventRecord(() => this.#nodeName);
  readonly #channels = new MasterChannels((channel, data) => this.#tellWorkers(channel, data));
  readonly #status: MasterStatus;
  readonly #zoneSharing: ZoneSharing;
  readonly #cluster: NodeCluster;
  readonly #configuration: StoredConfiguration;
  readonly #identity: ProcessFiles;
  #running = false;
  readonly #secret: Uint8Array;
  readonly #takeover: Takeover | undefined;
  #upgrade: Upgrade | undefined;
  #ending: 'no' | 'gracefully' | 'now' = 'no';
  #quitted: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  /** Reloads and upgrades. */
  readonly #signals: ReloadRecord;
  /** The start is over: a server that replaces another one gets signals before. */
  readonly #started = Promise.withResolvers<void>();
  #reloading: Promise<void> = this.#started.promise;

  constructor(private readonly options: MasterOptions) {
    const { installation, prefix, source, log, files, errorLog, places, predecessor } = options;
    this.#secret = predecessor?.secret ?? newSecret();
    const drop = (): void => this.#assembly.dropWorker(places - 1);
    this.#takeover = predecessor && new Takeover(predecessor, { log, carried: () => this.#carried, drop });
    const sockets = options.parent ?? this.#takeover?.sockets;
    const identity = { role: 'master', worker: -1, installation, prefix, confFolder: dirname(source.conf), secret: this.#secret } as const;
    this.#instance = new Instance({ ...identity, granted: options.parent?.granted, log, validates: true });
    this.#instance.services.provideLater(Transactions, () => this.#configuration.changes?.transactions);
    this.#instance.services.provideLater(ConfigurationHistory, () => this.#configuration.changes?.history);
    this.#instance.services.provideLater(KeyValue, () => this.#configuration.changes?.keyValue);
    const info = this.#instance.services.get(ServerInfo);
    this.#cluster = new NodeCluster({
      clusterName: () => info.clusterName,
      nodeName: () => this.#nodeName,
      srv: installation.version,
      log,
      configuration: () => this.#configuration.queue,
      pairs: () => this.#configuration.changes?.keyValue.shared,
    });
    this.#instance.services.provide(Cluster, this.#cluster);
    this.#instance.services.provide(ModuleStorages, new ModuleStorages(() => this.#configuration.store));
    const { services } = this.#instance;
    const resolver = (settings: ResolverOptions): Resolver => new Resolver(settings, services.get(Dialer), log, services.get(ZoneMetrics));
    const discovery = new Discovery({ log, resolver });
    const shared = { zones: this.#zones, figures: this.#figures, workers: places };
    const listening = { controlListeners: this.#controlListeners, reservations: sockets };
    const between = { events: this.#events, channels: this.#channels, discovery };
    this.#assembly = assemble(this.#instance, { role: 'master', files, errorLog, ...shared, ...between, ...listening });
    showStaged(this.#instance, this.#staging);
    this.#configuration = new StoredConfiguration({
      options,
      instance: this.#instance,
      staging: this.#staging,
      events: this.#events,
      cluster: this.#cluster,
      nodeName: () => this.#nodeName,
      participants: () => this.#workers.participants,
      heapSize: () => this.#supply.heapSize,
      takeover: this.#takeover,
      onStore: (store) => this.#assembly.remember(new StoredAddresses(store)),
    });
    this.#instance.services.provide(EventLog, this.#events);
    this.#identity = new ProcessFiles(options.parent, log);
    this.#signals = new ReloadRecord((state) => this.#identity.writeReloadState(state), log);
    this.#control = new ControlProcesses({
      options,
      instance: this.#instance,
      events: this.#events,
      transact: (calls, context) => this.#configuration.queue.together(calls, context),
      cluster: this.#cluster,
      listeners: this.#controlListeners,
      takeover: this.#takeover,
    });
    this.#supply = new WorkerSupply({
      options,
      instance: this.#instance,
      zones: this.#zones,
      channels: this.#channels,
      keyValue: () => this.#configuration.changes?.keyValue,
      shared: { figures: this.#figures, control: this.#controlListeners.memory, secret: this.#secret },
      takesOver: this.#takeover !== undefined,
    });
    this.#workers = new WorkerPool({
      log,
      events: this.#events,
      channels: this.#channels,
      zones: this.#zones,
      places: places - 1,
      release: (place) => this.#assembly.dropWorker(place),
      requestsOf: (place) => this.#assembly.requestsOf(place),
      heapSize: () => this.#supply.heapSize,
      joining: (join) => this.#configuration.queue.between(join),
      sockets,
      start: (index, place) => this.#supply.start(index, place),
      state: () => this.#supply.state(),
    });
    this.#zoneSharing = new ZoneSharing({
      zones: this.#assembly.moduleZones,
      redis: this.#configuration.redis,
      nodeName: () => this.#nodeName,
      log,
    });
    this.#status = new MasterStatus(this.#workers, this.helpers, this.#zones);
    this.#instance.services.provide(ServerStatus, this.#status);
  }

  get main(): MainConf {
    return this.#instance.settings.main;
  }

  /** True after a signal to end. */
  get ending(): boolean {
    return this.#ending !== 'no';
  }

  /** The process does not end by itself, only when it is killed: a thread is in a call of the system. */
  get hasStuckThreads(): boolean {
    return this.#workers.hasStuckThreads;
  }

  get #nodeName(): string {
    return this.#instance.services.get(ServerInfo).nodeName;
  }

  get helpers(): HelperSet {
    return this.#control.helpers;
  }

  /** Where the server listens. */
  get addresses(): readonly string[] {
    return this.#assembly.listens().map(({ address }) => address);
  }

  /**
   * Brings the server up: resolves when every listener is open and the pid file is written.
   * @param parsed the configuration as it was read
   * @throws ConfigErrors, or what else kept it from starting; {@link stop} cleans up then
   */
  async start(parsed: ParsedText): Promise<void> {
    const { log, files, installation } = this.options;
    const commitJournal = await this.#configuration.bringIntoForce(parsed);
    this.#assembly.discover(this.#crew);
    const { main } = this;
    log.write('notice', `srv/${installation.version}, Node.js ${process.versions.node}`);
    log.write('notice', `OS: ${type()} ${release()}`);
    applyProcessSettings(main, log);
    this.#control.guard();
    const keepJournal = (): Promise<void> =>
      commitJournal().catch((error: unknown) => {
        throw explained(error, main.data_folder);
      });
    // A node serves what the other nodes have, as far as it can know that.
    const joinsFirst = (await this.#configuration.share()) && this.#takeover === undefined;
    if (joinsFirst) await keepJournal();
    await this.#workers.start(this.#supply.count(), () => this.#takeover?.catchUp());
    if (!joinsFirst) await keepJournal();
    if (this.#takeover !== undefined) {
      await this.options.parent?.releaseWorkers(this.#workers.size);
      await this.options.takesOver?.();
    }
    // The one who has asked for an upgrade finds this process from then on. If it cannot be written, the server before goes on.
    await this.#identity.follow(this.main.pid);
    this.#running = true;
    await this.#takeover?.serving();
    warnOfUser(main.user, this.options.parent !== undefined, log);
    files.keepsUnused = false;
    await this.#instance.start();
    this.#zoneSharing.begin();
    await this.#configuration.changes?.keyValue.follow();
    this.#events.publish('server.started', { srv: installation.version, version: this.#configuration.queue.version });
    if (!this.ending) await this.#followHelpers();
    this.#started.resolve();
  }

  /** Applies the configuration file as it is now. If it cannot, everything stays as it was and the reasons are logged. */
  reload(): Promise<void> {
    const done = this.#signals.begin();
    // One after the other: each has an outcome of its own.
    this.#reloading = this.#reloading.catch(() => undefined).then(async () => done(await this.#reload()));
    return this.#reloading;
  }

  /** Returns why it failed; empty if it did not. */
  async #reload(): Promise<string> {
    const { log, report } = this.options;
    log.write('notice', 'reconfiguring');
    for (const text of outdatedCode(this.main.helper, this.options)) log.write('warn', text);
    // That of the old configuration, as in nginx, whose old workers know no other.
    const timeout = this.main.worker_shutdown_timeout;
    await this.#prepareAsRoot();
    try {
      await this.#configuration.reload();
      this.#status.reloaded();
      if (this.ending) return 'srv: [error] the server is ending\n';
      this.#limitOldRequests(timeout);
      const failures = await this.#workers.resize(this.#supply.count(), timeout);
      await this.#identity.move(this.main.pid);
      await this.#followHelpers();
      this.helpers.reload();
      log.write('notice', 'reconfigured');
      return failures.map((failure) => `srv: [emerg] ${failure}\n`).join('');
    } catch (error) {
      const text = report(error);
      log.write('error', 'the current configuration stays as it was');
      return `${text}srv: the current configuration stays as it was\n`;
    }
  }

  async reopenLogs(): Promise<void> {
    const { files, log } = this.options;
    log.write('notice', 'reopening logs');
    await this.#prepareAsRoot();
    for (const failure of files.reopen()) log.write('emerg', failure.message);
    this.#workers.reopenLogs();
    this.helpers.reopenLogs();
  }

  /** Where root has something left to do: makes the files of the configuration and reads the ones that this process may not. */
  async #prepareAsRoot(): Promise<void> {
    const { parent, log } = this.options;
    await parent?.prepare().catch((error: unknown) => log.write('error', `files are not prepared: ${(error as Error).message}`));
  }

  /**
   * Replaces this server with the program that is at its path now. Resolves with true when that serves and the last request of this one is over; false:
   * it cannot, the log has the reason, and everything stays as it was.
   */
  async upgrade(): Promise<boolean> {
    const done = this.#signals.begin();
    if (this.#running) await this.#started.promise;
    if (this.#upgrade !== undefined || this.ending || !this.#running) {
      done('srv: [error] the server is being upgraded, starts or ends\n');
      return false;
    }
    const { log, startProgram, parent } = this.options;
    const stores = [this.#configuration.store, this.#configuration.changes?.keyValue].filter((store) => store !== undefined);
    const parts = { workers: this.#workers, helpers: this.helpers, queue: this.#configuration.queue, stores, parent };
    const upgrade = new Upgrade({
      log,
      secret: this.#secret,
      dataFolder: this.main.data_folder,
      carried: this.#carried,
      start: startProgram,
      ...parts,
    });
    this.#upgrade = upgrade;
    const failure = await upgrade.run();
    done(failure);
    if (failure === '') await this.#leave(upgrade);
    else {
      this.#upgrade = undefined;
      await this.#identity.restore();
    }
    return failure === '';
  }

  /** Ends the workers gracefully and stays; a reload starts them again. */
  async endWorkers(): Promise<void> {
    await this.#workers.quit({ timeoutMs: this.main.worker_shutdown_timeout, waitsForIdle: false });
  }

  /** Shuts down gracefully: ends when no request is in progress, or when worker_shutdown_timeout is over. */
  quit(): Promise<void> {
    return (this.#quitted ??= this.#quit());
  }

  async #quit(): Promise<void> {
    if (this.#ending === 'no') this.#ending = 'gracefully';
    await this.#workers.quit({ timeoutMs: this.main.worker_shutdown_timeout, waitsForIdle: false });
    await this.stop();
  }

  /** Ends now. Also after half a start. Resolves when it has ended, however often it is called. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.#ending = 'now';
    this.#zoneSharing.close();
    await this.#workers.stop();
    this.#events.close();
    await this.#control.stop();
    this.#configuration.unfollow();
    await this.#cluster.leave(this.#upgrade !== undefined);
    await this.#instance.stop();
    await this.#configuration.close();
    if (this.#running && this.#upgrade === undefined) this.#takeover?.sockets.removeFiles();
    this.#identity.remove();
    if (this.#running) this.options.log.write('notice', 'exit');
    this.options.files.flush();
  }

  /** Another program serves: this one finishes its requests, and has nothing else to do. */
  async #leave(upgrade: Upgrade): Promise<void> {
    this.#ending = 'gracefully';
    this.#configuration.changes?.transactions.unfollow();
    await this.#cluster.leave(true);
    this.#assembly.retire();
    this.#zoneSharing.close();
    this.#workers.leaveFiles();
    await this.options.parent?.leave();
    await this.#identity.leave();
    await this.#control.quit();
    upgrade.left();
    await this.#workers.quit({ timeoutMs: this.main.worker_shutdown_timeout, waitsForIdle: true });
    upgrade.close();
    await this.stop();
  }

  get #carried(): readonly CarriedState[] {
    return [this.#events.carried, ...this.#assembly.carried];
  }

  /** Applies members that were found. */
  get #crew(): Crew {
    return { inTurn: (step) => this.#configuration.queue.between(step), tell: (channel, data) => this.#tellWorkers(channel, data) };
  }

  #tellWorkers(channel: string, data: unknown): Promise<void> {
    return toldEverywhere(this.#workers.participants, (participant) => participant.publish(channel, data));
  }

  /** In nginx workers of the old configuration end with worker_shutdown_timeout; here it is the requests that began under it. */
  #limitOldRequests(timeout: number | undefined): void {
    const reloadedAt = Date.now();
    if (timeout !== undefined) setTimeout(() => this.#workers.cutOff(reloadedAt), timeout).unref();
  }

  #followHelpers(): Promise<void> {
    if (this.main.helper.length > 0) this.#configuration.store?.keep();
    return this.#control.follow();
  }
}
