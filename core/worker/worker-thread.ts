import type { MessagePort } from 'node:worker_threads';
import { assemble } from '../kernel/assembly.js';
import type { Prepared } from '../kernel/follower.js';
import { findInstallation } from '../kernel/installation.js';
import { Instance } from '../kernel/instance.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { Zones } from '../zone/zones.js';
import { failureData } from './failure.js';
import type { FromWorker, ToWorker, WorkerStart } from './protocol.js';
import type { Replica } from '../control/participant.js';

/** One worker: an instance that does what the master's messages say, in their order. */
export class WorkerThread {
  readonly #instance: Instance;
  readonly #zones = new Zones('adopt');
  readonly #replicas = new Map<string, Replica>();
  /** The changes that are ready, by transaction. */
  readonly #prepared = new Map<number, Prepared>();
  /** Resolves when every message so far is dealt with: a message waits for the one before it. */
  #turn: Promise<void> = Promise.resolve();
  #booted: Promise<void> = Promise.resolve();
  #leaving = false;

  constructor(
    private readonly start: WorkerStart,
    private readonly port: MessagePort,
    private readonly log: ErrorLog,
    private readonly files: AppendedLogFiles,
  ) {
    const { index, prefix, confFolder, zones } = start;
    this.#zones.adopt(zones);
    const identity = { role: 'worker', worker: index, installation: findInstallation(), prefix, confFolder } as const;
    this.#instance = new Instance({ ...identity, log, validates: false });
  }

  /** Brings the configuration into force and serves. What cannot be done is told to the master, and the thread ends. */
  async run(): Promise<void> {
    this.port.on('message', (message: ToWorker) => this.#receive(message));
    this.#turn = this.#booted = this.#boot();
    await this.#booted;
  }

  async #boot(): Promise<void> {
    const { figures, workers, snapshots, tree, errorLog } = this.start;
    try {
      const { replicas } = assemble(this.#instance, { role: 'worker', files: this.files, errorLog, zones: this.#zones, figures, workers });
      for (const replica of replicas) this.#replicas.set(replica.channel, replica);
      for (const { channel, snapshot } of snapshots) this.#replicas.get(channel)?.load(snapshot);
      const prepared = await this.#instance.prepare([{ op: 'root', block: tree }]);
      prepared.commit();
      await this.#instance.start();
      this.#tell({ kind: 'ready' });
    } catch (error) {
      this.#tell({ kind: 'failed', failure: failureData(error) });
      await this.#instance.stop();
      this.#end(1);
    }
  }

  #receive(message: ToWorker): void {
    // These do not wait for a change that is being prepared.
    if (message.kind === 'ping') this.#tell({ kind: 'pong' });
    else if (message.kind === 'quit') void this.#quit(message.timeoutMs);
    else if (message.kind === 'stop') void this.#stop();
    else this.#turn = this.#turn.then(() => this.#obey(message));
  }

  async #obey(message: Exclude<ToWorker, { kind: 'ping' | 'quit' | 'stop' }>): Promise<void> {
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
      case 'publish':
        this.#replicas.get(message.channel)?.take(message.data);
        this.#tell({ kind: 'published', id: message.id });
        break;
      case 'reopen':
        for (const failure of this.files.reopen()) this.log.write('emerg', failure.message);
        break;
    }
  }

  async #prepare({ tx, operations, rereads, zones }: Extract<ToWorker, { kind: 'prepare' }>): Promise<void> {
    try {
      this.#zones.adopt(zones);
      this.#prepared.set(tx, await this.#instance.prepare(operations, rereads));
      this.#tell({ kind: 'prepared', tx });
    } catch (error) {
      this.#tell({ kind: 'prepared', tx, failure: failureData(error) });
    }
  }

  #take(tx: number): Prepared | undefined {
    const prepared = this.#prepared.get(tx);
    this.#prepared.delete(tx);
    return prepared;
  }

  async #quit(timeoutMs: number | undefined): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    // Sockets that are being opened would take connections which nobody answers.
    await this.#booted;
    this.log.write('notice', 'gracefully shutting down');
    await this.#instance.quit(timeoutMs);
    this.#end(0);
  }

  async #stop(): Promise<void> {
    this.#leaving = true;
    await this.#instance.stop();
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
