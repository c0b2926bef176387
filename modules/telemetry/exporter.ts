import type { Worker } from 'node:worker_threads';
import type { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import type { Log } from '../../core/contract/log.js';
import type { Counter } from '../../core/contract/metrics.js';
import type { PagedFamily } from '../../core/toolkit/figures/page.js';
import {
  SIGNALS,
  urlOf,
  type DropReason,
  type ExportSettings,
  type FromExporter,
  type Signal,
  type ToExporter,
} from './export-messages.js';
import { waitingIndex, type RecordMessage } from './record-batch.js';

/** The same file from here and from where the bundle has put this code. */
const THREAD = '../../modules/telemetry/export-thread.js';
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };
/** Failures are logged at most this often, milliseconds. */
const LOG_INTERVAL = 60_000;
/** Records of signals, in messages. */
const NOUNS: Readonly<Record<Signal, string>> = { traces: 'spans', logs: 'log records', metrics: 'figures' };
/** How long the end of the server waits for the last spans, milliseconds. */
const PATIENCE = 3000;

/** Counters of the records of one signal. */
export interface SignalCounters {
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
  /** Records that the thread has and has not reported yet. */
  readonly #underWay: Record<Signal, number> = { traces: 0, logs: 0, metrics: 0 };
  #lastLogged = -Infinity;
  #unlogged = 0;
  lastFailure: Failure | undefined;
  /** When records were exported last (epoch milliseconds). */
  lastExport: number | undefined;

  constructor(
    private readonly memory: SharedArrayBuffer,
    private readonly counters: Readonly<Record<Signal, SignalCounters>>,
    private readonly guard: ControlPlaneGuard,
    private readonly log: Log,
  ) {}

  get settings(): ExportSettings | undefined {
    return this.#settings;
  }

  waiting(signal: Signal): number {
    return this.#underWay[signal];
  }

  configure(settings: ExportSettings): void {
    this.#settings = settings;
    this.#thread ??= this.#start();
    this.#post({ kind: 'configure', settings, memory: this.memory });
  }

  send({ signal, count, records }: RecordMessage): void {
    if (this.#begins(signal, count)) this.#post({ kind: 'records', signal, records });
  }

  /** @param at epoch milliseconds @param since when counters began that do not say so */
  sendFigures(families: readonly PagedFamily[], at: number, since: number): void {
    const count = families.reduce((sum, { samples }) => sum + samples.length, 0);
    if (this.#begins('metrics', count)) this.#post({ kind: 'figures', families, at, since });
  }

  /** @returns false: there is no exporter */
  #begins(signal: Signal, count: number): boolean {
    if (this.#settings === undefined) {
      this.counters[signal].dropped.failed.add(count);
      return false;
    }
    if (this.#thread === undefined) this.configure(this.#settings);
    this.#underWay[signal] += count;
    return true;
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
    thread.on('error', (error: Error) => this.#failed(`the thread that exports has ended: ${error.message}`, 'traces'));
    thread.once('exit', () => this.#ended(thread));
    return thread;
  }

  /** Spans that the thread had are lost. The next spans start another one. */
  #ended(thread: Worker): void {
    this.#finished?.();
    const shared = new Int32Array(this.memory);
    for (const signal of SIGNALS) {
      this.counters[signal].dropped.failed.add(this.#underWay[signal]);
      this.#underWay[signal] = 0;
      Atomics.store(shared, waitingIndex(signal), 0);
    }
    if (this.#thread === thread) this.#thread = undefined;
  }

  #settled({ signal, count }: { readonly signal: Signal; readonly count: number }): void {
    this.#underWay[signal] = Math.max(0, this.#underWay[signal] - count);
  }

  #receive(message: FromExporter): void {
    switch (message.kind) {
      case 'exported':
        this.#settled(message);
        this.lastExport = Date.now();
        this.counters[message.signal].exported.add(message.count);
        break;
      case 'dropped':
        this.#settled(message);
        this.counters[message.signal].dropped[message.reason].add(message.count);
        break;
      case 'failure':
        this.#failed(message.text, message.signal);
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

  /** The collector is too slow for all figures. */
  tooSlow(text: string): void {
    this.#failed(text, 'metrics');
  }

  #failed(text: string, signal: Signal): void {
    const now = Date.now();
    this.lastFailure = { at: now, text };
    if (now - this.#lastLogged < LOG_INTERVAL) return void this.#unlogged++;
    const more = this.#unlogged === 0 ? '' : ` (${this.#unlogged} more failures since the last line)`;
    this.#lastLogged = now;
    this.#unlogged = 0;
    const url = this.#settings === undefined ? 'the collector' : urlOf(this.#settings, signal);
    this.log.write('error', `${NOUNS[signal]} could not be exported to ${url}: ${text}${more}`);
  }
}
