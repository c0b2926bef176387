import type { SpanRecord } from './span-records.js';

/** Takes spans that have ended. */
export type TakeSpan = (span: SpanRecord) => void;

/** Spans of a trace that is not sampled that wait for the end of its request, at most. */
const MOST_PENDING = 100;

/** Where the spans of a request of a client and of its subrequests go: on, away, or to wait until the end of the request decides. */
export class TraceSink {
  #verdict: 'record' | 'pending' | 'drop';
  #pending: SpanRecord[] = [];

  constructor(
    /** The request is recorded, whatever becomes of it. */
    isSampled: boolean,
    private readonly take: TakeSpan,
  ) {
    this.#verdict = isSampled ? 'record' : 'pending';
  }

  get isPending(): boolean {
    return this.#verdict === 'pending';
  }
  get isDropped(): boolean {
    return this.#verdict === 'drop';
  }

  add(span: SpanRecord): void {
    if (this.#verdict === 'record') this.take(span);
    else if (this.#verdict === 'pending' && this.#pending.length < MOST_PENDING) this.#pending.push(span);
  }

  /** Decides again, before any span has ended. */
  reset(isSampled: boolean): void {
    this.#verdict = isSampled ? 'record' : 'pending';
  }

  decide(isRecorded: boolean): void {
    this.#verdict = isRecorded ? 'record' : 'drop';
    if (isRecorded) for (const span of this.#pending) this.take(span);
    this.#pending = [];
  }
}
