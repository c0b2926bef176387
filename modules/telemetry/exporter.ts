import type { Worker } from 'node:worker_threads';
import type { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import type { Log } from '../../core/contract/log.js';
import type { Counter } from '../../core/contract/metrics.js';
import { WAITING, type DropReason, type ExportSettings, type FromExporter, type ToExporter } from './export-messages.js';
import type { SpanMessage } from './span-batch.js';

/** The same file from here and from where the bundle has put this code. */
const THREAD = '../../modules/telemetry/export-thread.js';
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };
/** Failures are logged at most this often, milliseconds. */
const LOG_INTERVAL = 60_000;
/** How long the end of the server waits for the last spans, milliseconds. */
const PATIENCE = 3000;

export interface SpanCounters {
  readonly exported: Counter;
  readonly dropped: Readonly<Record<DropReason, Counter>>;
}

/** Result of the last failed call. */
export interface Failure {
  readonly at: number;
  readonly text: string;
}

/** The thread that exports, as the main thread uses it. */
export class Exporter {
  #thread: Worker | undefined;
  #settings: ExportSettings | undefined;
  #finished: (() => void) | undefined;
  /** Spans that the thread has and has not reported yet. */
  #underWay = 0;
  #lastLogged = -Infinity;
  #unlogged = 0;
  lastFailure: Failure | undefined;
  /** When spans were exported last (epoch milliseconds). */
  lastExport: number | undefined;

  constructor(
    private readonly memory: SharedArrayBuffer,
    private readonly counters: SpanCounters,
    private readonly guard: ControlPlaneGuard,
    private readonly log: Log,
  ) {}

  get settings(): ExportSettings | undefined {
    return this.#settings;
  }

  get waiting(): number {
    return this.#underWay;
  }

  configure(settings: ExportSettings): void {
    this.#settings = settings;
    this.#thread ??= this.#start();
    this.#post({ kind: 'configure', settings, memory: this.memory });
  }

  send({ count, spans }: SpanMessage): void {
    if (this.#settings === undefined) return this.counters.dropped.failed.add(count);
    if (this.#thread === undefined) this.configure(this.#settings);
    this.#underWay += count;
    this.#post({ kind: 'spans', count, spans });
  }

  /** Sends what waits, as far as the collector accepts it at once. */
  async stop(): Promise<void> {
    const thread = this.#thread;
    this.#settings = undefined;
    if (thread === undefined) return;
    const finished = new Promise<void>((resolve) => {
      this.#finished = resolve;
      setTimeout(resolve, PATIENCE).unref();
    });
    this.#post({ kind: 'finish' });
    await finished;
    this.#thread = undefined;
    await thread.terminate();
  }

  #post(message: ToExporter): void {
    this.#thread?.postMessage(message);
  }

  #start(): Worker {
    const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
    const thread = new Thread(new URL(THREAD, import.meta.url), { name: 'telemetry', resourceLimits: LIMITS });
    thread.unref();
    thread.on('message', (message: FromExporter) => this.#receive(message));
    thread.on('error', (error: Error) => this.#failed(`the thread that exports spans has ended: ${error.message}`));
    thread.once('exit', () => this.#ended(thread));
    return thread;
  }

  /** Spans that the thread had are lost. The next spans start another one. */
  #ended(thread: Worker): void {
    this.#finished?.();
    this.counters.dropped.failed.add(this.#underWay);
    this.#underWay = 0;
    Atomics.store(new Int32Array(this.memory), WAITING, 0);
    if (this.#thread === thread) this.#thread = undefined;
  }

  #receive(message: FromExporter): void {
    switch (message.kind) {
      case 'exported':
        this.#underWay -= message.count;
        this.lastExport = Date.now();
        this.counters.exported.add(message.count);
        break;
      case 'dropped':
        this.#underWay -= message.count;
        this.counters.dropped[message.reason].add(message.count);
        break;
      case 'failure':
        this.#failed(message.text);
        break;
      case 'ask': {
        const { id, host, port } = message;
        this.#post({ kind: 'permission', id, rejection: this.guard.rejection({ host, port }) });
        break;
      }
      case 'finished':
        this.#finished?.();
        break;
    }
  }

  #failed(text: string): void {
    const now = Date.now();
    this.lastFailure = { at: now, text };
    if (now - this.#lastLogged < LOG_INTERVAL) return void this.#unlogged++;
    const more = this.#unlogged === 0 ? '' : ` (${this.#unlogged} more failures since the last line)`;
    this.#lastLogged = now;
    this.#unlogged = 0;
    this.log.write('error', `spans could not be exported to ${this.#settings?.url ?? 'the collector'}: ${text}${more}`);
  }
}
