import type { Channel } from '../../core/contract/channels.js';
import type { Counter } from '../../core/contract/metrics.js';
import type { LogLevel } from '../../core/contract/log.js';
import { SIGNALS, type Signal } from './export-messages.js';

/** The exporter, as workers know it. */
export interface ExporterState {
  readonly memory: SharedArrayBuffer;
  readonly batchSize: number;
  /** Records of a signal that wait at most in the thread that exports. */
  readonly limit: number;
  /** Lowest level of the lines of the error log that are sent; undefined: none are. */
  readonly logLevel: LogLevel | undefined;
}

/** Records on their way to the main thread. */
export interface RecordMessage {
  readonly signal: 'traces' | 'logs';
  readonly count: number;
  /** JSON array. */
  readonly records: string;
}

/** Records that a worker keeps while it does not know the exporter yet. */
const MOST_EARLY = 512;

/** Place of a signal in the memory of all threads. */
export const waitingIndex = (signal: Signal): number => SIGNALS.indexOf(signal);

/** Spans that have ended in this worker, or its log records, until they are sent. */
export class RecordBatch<R> {
  #records: string[] = [];
  #state: ExporterState | undefined;
  #waiting: Int32Array | undefined;

  constructor(
    private readonly signal: 'traces' | 'logs',
    private readonly channel: () => Pick<Channel<ExporterState, never, RecordMessage>, 'tell'>,
    /** Records that were dropped because too many wait. */
    private readonly dropped: Counter,
  ) {}

  use(state: ExporterState): void {
    this.#state = state;
    this.#waiting = new Int32Array(state.memory);
  }

  add(record: R): void {
    if (this.#records.length >= (this.#state?.batchSize ?? MOST_EARLY)) this.flush();
    if (this.#state === undefined && this.#records.length >= MOST_EARLY) this.dropped.add();
    else this.#records.push(JSON.stringify(record));
  }

  flush(): void {
    const { length } = this.#records;
    if (length === 0 || this.#state === undefined || this.#waiting === undefined) return;
    if (Atomics.load(this.#waiting, waitingIndex(this.signal)) >= this.#state.limit) this.dropped.add(length);
    else this.channel().tell({ signal: this.signal, count: length, records: `[${this.#records.join(',')}]` });
    this.#records = [];
  }
}
