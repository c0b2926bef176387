import type { Channel } from '../../core/contract/channels.js';
import type { Counter } from '../../core/contract/metrics.js';
import { WAITING } from './export-messages.js';
import type { SpanRecord } from './span-records.js';

/** The exporter, as workers know it. */
export interface ExporterState {
  readonly memory: SharedArrayBuffer;
  readonly batchSize: number;
  /** Spans that wait at most in the thread that exports. */
  readonly limit: number;
}

/** Spans of several workers on their way to the main thread. */
export interface SpanMessage {
  readonly count: number;
  /** JSON array of records. */
  readonly spans: string;
}

/** Spans that a worker keeps while it does not know the exporter yet. */
const MOST_EARLY = 512;

/** Spans that have ended in this worker, until they are sent. */
export class SpanBatch {
  #spans: string[] = [];
  #state: ExporterState | undefined;
  #waiting: Int32Array | undefined;

  constructor(
    private readonly channel: () => Pick<Channel<ExporterState, never, SpanMessage>, 'tell'>,
    /** Spans that were dropped because too many wait. */
    private readonly dropped: Counter,
  ) {}

  use(state: ExporterState): void {
    this.#state = state;
    this.#waiting = new Int32Array(state.memory);
  }

  add(span: SpanRecord): void {
    if (this.#spans.length >= (this.#state?.batchSize ?? MOST_EARLY)) this.flush();
    if (this.#state === undefined && this.#spans.length >= MOST_EARLY) this.dropped.add();
    else this.#spans.push(JSON.stringify(span));
  }

  flush(): void {
    const { length } = this.#spans;
    if (length === 0 || this.#state === undefined || this.#waiting === undefined) return;
    if (Atomics.load(this.#waiting, WAITING) >= this.#state.limit) this.dropped.add(length);
    else this.channel().tell({ count: length, spans: `[${this.#spans.join(',')}]` });
    this.#spans = [];
  }
}
