import { threadId, type MessagePort } from 'node:worker_threads';
import { ConfigTree, type TreeOperation } from '../config/tree.js';
import { decodeTree } from '../config/tree-codec.js';
import { assemble, type Assembly } from '../kernel/assembly.js';
import type { GracefulEnd, Prepared } from '../config/change.js';
import { WorkerChannels } from '../kernel/channel-hub.js';
import { Instance } from '../kernel/instance.js';
import type { RetiredModules } from '../kernel/instance-options.js';
import { moduleCode } from '../kernel/module-code.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { ControlListeners } from '../net/control-listeners.js';
import { ZoneSet } from '../zone/zone-set.js';
import { failureData } from './failure.js';
import type { LifeSigns } from './life-signs.js';
import { WorkerEvents } from './worker-events.js';
import type { FromWorker, ToWorker, WorkerStart, WorkerState } from './protocol.js';
import type { Replica } from '../changes/participant.js';
import type { OpenDescriptors } from '../net/transport/open-descriptors.js';
import { AskedSockets } from '../net/asked-sockets.js';
import { errorOf, stackOf } from '../contract/thrown.js';

/** One that fails again and again does not go on until it is replaced. */
const MOST_ERRORS = 1000;

/** One worker: an instance that does what the master's messages say, in their order. */
export class WorkerThread {
  readonly #instance: Instance;
  readonly #zones = new ZoneSet('adopt');
  readonly #replicas = new Map<string, Replica>();
  /** The changes that are ready, by transaction. */
  readonly #prepared = new Map<number, Prepared>();
  /** Resolves when every message so far is dealt with: a message waits for the one before it. */
  #turn: Promise<void> = Promise.resolve();
  #booted: Promise<void> | undefined;
  #served: Promise<void> = Promise.resolve();
  readonly #assembly: Assembly;
  /** Modules that wait to be stopped. */
  #retired: RetiredModules[] = [];
  readonly #sockets = new AskedSockets((id, request) => this.#tell({ kind: 'socket', id, request }));
  #leaving = false;
  #isReady = false;
  /** Unexpected errors. */
  #errors = 0;

  constructor(
    private readonly start: WorkerStart,
    private readonly port: MessagePort,
    private readonly log: ErrorLog,
    private readonly files: AppendedLogFiles,
    private readonly signs: LifeSigns,
    descriptors: OpenDescriptors,
  ) {
    const { index, place, installation, prefix, confFolder, errorLog, figures, control, workers, secret, asksForSockets } = start;
    const identity = { role: 'worker', worker: index, installation, prefix, confFolder, secret } as const;
    this.#instance = new Instance({ ...identity, log, validates: false, onCall: signs.call, retire: (modules) => this.#retiring(modules) });
    const events = new WorkerEvents((event) => this.#tell({ kind: 'event', event }));
    const channels = new WorkerChannels((message) => this.#tell({ kind: 'told', message }));
    const listening = { controlListeners: new ControlListeners(control), sockets: asksForSockets ? this.#sockets : undefined };
    const shared = { zones: this.#zones, figures, workers, place, descriptors };
    this.#assembly = assemble(this.#instance, { role: 'worker', files, errorLog, ...shared, events, channels, ...listening });
  }

  /** Loads the modules and then follows the master. After a failure it reports to the master, and the thread ends. */
  async run(): Promise<void> {
    this.port.on('message', (message: ToWorker) => this.#receive(message));
    await this.#orFail(() => this.#load());
  }

  /**
   * After an unexpected error the state of this thread cannot be trusted: another one takes its place. Until that accepts connections it
   * goes on, since the error is most often that of one request, and all others would be cut; what it does with a zone is over.
   */
  fail(kind: string, reason: unknown): void {
    const text = stackOf(reason);
    this.log.write('alert', `worker ${this.start.index}: uncaught ${kind}: ${text}`);
    const isFirst = this.#errors++ === 0;
    if (!this.#mayGoOn(isFirst)) return this.#end(1);
    this.#zones.releaseOf(threadId);
    if (isFirst) this.#tell({ kind: 'failing', reason: `uncaught ${kind}: ${errorOf(reason).message}` });
  }

  #mayGoOn(isFirst: boolean): boolean {
    if (!this.#isReady || this.#errors > MOST_ERRORS) return false;
    // Two threads cannot bind the same unix socket.
    const { socketsStay, index } = this.start;
    const hasUnixSocket = !socketsStay && index === 0 && this.#assembly.listens().some(({ path }) => path !== undefined);
    return !hasUnixSocket && (!isFirst || !this.#leaving);
  }

  async #load(): Promise<void> {
    const { lines, modules } = this.start;
    moduleCode.adopt(modules.files);
    await this.#instance.modulesFor(ConfigTree.fromData(lines), modules.plan);
    this.#tell({ kind: 'loaded' });
  }

  async #boot({ zones, snapshots, tree, files, modules }: WorkerState): Promise<void> {
    for (const replica of this.#assembly.replicas) this.#replicas.set(replica.channel, replica);
    for (const { channel, snapshot } of snapshots) this.#replicas.get(channel)?.load(snapshot);
    this.#zones.adopt(zones);
    moduleCode.adopt(modules.files);
    const prepared = await this.#instance.prepare([{ op: 'root', block: decodeTree(tree) }], { files, plan: modules.plan });
    prepared.commit();
    this.#tell({ kind: 'booted' });
  }

  /** Changes go on while the modules start; sockets are opened in a turn of their own. */
  async #serve(): Promise<void> {
    await this.#instance.start();
    const opened = this.#turn.then(() => (this.#leaving ? undefined : this.#assembly.open()));
    this.#turn = opened.catch(() => undefined);
    await opened;
    this.#isReady = true;
    this.#tell({ kind: 'ready' });
  }

  async #orFail(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#tell({ kind: 'failed', failure: failureData(error) });
      await this.#instance.stop();
      this.#end(1);
    }
  }

  #receive(message: ToWorker): void {
    // These do not wait for a change that is being prepared.
    if (message.kind === 'ping') this.#tell({ kind: 'pong' });
    else if (message.kind === 'descriptors') this.#tell({ kind: 'descriptors', descriptors: this.#assembly.descriptors() });
    else if (message.kind === 'moveFlows') this.#moveFlows();
    else if (message.kind === 'leaveFiles') this.#assembly.leaveFiles();
    else if (message.kind === 'socket') this.#sockets.take(message.id, message);
    else if (message.kind === 'quit') void this.#quit(message.end);
    else if (message.kind === 'cutOff') this.#instance.cutOff(message.time);
    else if (message.kind === 'stop') void this.#stop();
    else if (message.kind === 'retire') void this.#retire(message.stops);
    else if (message.kind === 'publish') this.#takePublished(message);
    else if (message.kind === 'boot') this.#turn = this.#booted = this.#orFail(() => this.#boot(message.state));
    else if (message.kind === 'open') this.#served = this.#orFail(() => this.#serve());
    else this.#turn = this.#turn.then(() => this.#obey(message));
  }

  async #obey(message: Extract<ToWorker, { kind: 'prepare' | 'commit' | 'abort' | 'reopen' }>): Promise<void> {
    switch (message.kind) {
      case 'prepare':
        return this.#prepare(message);
      case 'commit':
        this.#take(message.tx)?.commit();
        this.#tell({ kind: 'committed', tx: message.tx });
        break;
      case 'abort':
        this.#take(message.tx)?.abort();
        break;
      case 'reopen':
        for (const failure of this.files.reopen()) this.log.write('emerg', failure.message);
        break;
    }
  }

  async #prepare({ tx, operations, rereads, files, modules, zones }: Extract<ToWorker, { kind: 'prepare' }>): Promise<void> {
    this.signs.prepares = tx;
    try {
      this.#zones.adopt(zones);
      if (modules !== undefined) moduleCode.adopt(modules.files);
      const known = { rereads, files, plan: modules?.plan };
      this.#prepared.set(tx, await this.#instance.prepare(JSON.parse(operations) as TreeOperation[], known));
      this.#tell({ kind: 'prepared', tx });
    } catch (error) {
      this.#tell({ kind: 'prepared', tx, failure: failureData(error) });
    }
    this.signs.prepares = 0;
  }

  /** All workers have something to stop at the same time, and the master lets one of them begin. */
  #retiring(modules: RetiredModules): void {
    this.#retired.push(modules);
    this.#tell({ kind: 'retiring' });
  }

  async #retire(stops: boolean): Promise<void> {
    for (const modules of this.#retired.splice(0)) {
      if (stops) await modules.stop();
      else modules.leave();
    }
    this.#tell({ kind: 'retired' });
  }

  #takePublished({ id, channel, data }: Extract<ToWorker, { kind: 'publish' }>): void {
    this.#replicas.get(channel)?.take(data);
    this.#tell({ kind: 'published', id });
  }

  #take(tx: number): Prepared | undefined {
    const prepared = this.#prepared.get(tx);
    this.#prepared.delete(tx);
    return prepared;
  }

  #moveFlows(): void {
    this.#assembly.moveFlows();
    this.#tell({ kind: 'flowsMoved' });
  }

  async #quit(end: GracefulEnd): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    if (this.#booted === undefined) return this.#end(0);
    // Sockets that are being opened would accept connections that nothing serves.
    await this.#booted;
    await this.#served;
    this.log.write('notice', 'gracefully shutting down');
    await this.#instance.quit(end);
    await this.#retire(true);
    this.#end(this.#errors > 0 ? 1 : 0);
  }

  async #stop(): Promise<void> {
    this.#leaving = true;
    await this.#instance.stop();
    await this.#retire(true);
    this.#end(0);
  }

  #end(code: number): void {
    this.files.flush();
    process.exit(code);
  }

  #tell(message: FromWorker): void {
    this.port.postMessage(message);
  }
}
