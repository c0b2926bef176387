import type { DropReason, ExportSettings, SignalResult } from './export-messages.js';
import { LONGEST_RESPONSE, OtlpCalls, type AssertAllowed, type OtlpResponse } from './otlp-call.js';
import { askedPause, isRetryable, pauseBefore } from './retry.js';
import type { SignalCodec } from './signal-codecs.js';

/** A batch is given up after this many calls, or milliseconds where the collector does not say when to call again. */
const MOST_CALLS = 6;
const PATIENCE = 60_000;

interface Batch<R> {
  readonly records: readonly R[];
  readonly payload: Uint8Array;
  readonly since: number;
  calls: number;
}

/** Queue of the records of one signal, and the calls that send them: one at a time. */
export class SignalExporter<R> {
  readonly #calls: OtlpCalls;
  readonly #waiting: R[] = [];
  /** The batch that is being sent, or that waits for its next call. */
  #batch: Batch<R> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isCalling = false;
  /** No call before (epoch milliseconds). */
  #pausedUntil = 0;
  #onEmpty: (() => void) | undefined;
  /** Nothing is sent again, or later. */
  #isFinishing = false;

  /** @param url of the signal @param waits notified of the number of records that wait */
  constructor(
    private readonly settings: ExportSettings,
    url: string,
    private readonly codec: SignalCodec<R>,
    assertAllowed: AssertAllowed,
    private readonly tell: (result: SignalResult) => void,
    private readonly waits: (count: number) => void,
  ) {
    this.#calls = new OtlpCalls(settings, url, assertAllowed);
  }

  get #count(): number {
    return this.#waiting.length + (this.#batch?.records.length ?? 0);
  }

  add(records: readonly R[]): void {
    const room = Math.max(0, this.settings.limit - this.#count);
    const taken = records.length <= room ? records : records.slice(0, room);
    this.#drop('queue_full', records.length - taken.length);
    for (const record of taken) this.#waiting.push(record);
    this.#schedule();
  }

  /** Records that are not in a call, for a successor. */
  takeWaiting(): R[] {
    const taken = [...(this.#isCalling ? [] : (this.#batch?.records ?? [])), ...this.#waiting];
    this.#waiting.length = 0;
    if (!this.#isCalling) this.#batch = undefined;
    clearTimeout(this.#timer);
    return taken;
  }

  /** Sends everything, each batch once, without pauses; then ends. */
  async finish(): Promise<void> {
    if (this.#isFinishing) return;
    this.#isFinishing = true;
    clearTimeout(this.#timer);
    if (this.#isCalling) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    while (this.#count > 0 && Date.now() >= this.#pausedUntil) {
      const { length } = this.#waiting;
      await this.#send();
      // A batch that could not be sent is still there: no further one will be accepted.
      if (this.#batch !== undefined || this.#waiting.length === length) break;
    }
    const left = this.#count;
    this.#waiting.length = 0;
    this.#batch = undefined;
    this.#drop('failed', left);
    this.#calls.close();
  }

  #schedule(): void {
    this.waits(this.#count);
    if (this.#isCalling || this.#isFinishing || this.#count === 0) return;
    const isFull = this.#waiting.length >= this.settings.batchSize && this.#batch === undefined;
    const pause = Math.max(this.#pausedUntil - Date.now(), isFull || this.#batch !== undefined ? 0 : this.settings.interval);
    // A timer that is set for the interval stays; a full batch is sent at once.
    if (this.#timer !== undefined && !isFull) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#send(), pause);
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isCalling = true;
    const batch = (this.#batch ??= this.#nextBatch());
    batch.calls++;
    try {
      this.#received(batch, await this.#calls.send(batch.payload));
    } catch (error) {
      this.#failed(batch, (error as Error).message, undefined);
    }
    this.#isCalling = false;
    this.#onEmpty?.();
    this.#schedule();
  }

  #nextBatch(): Batch<R> {
    const records = this.#waiting.splice(0, this.settings.batchSize);
    return { records, payload: this.codec.encode(records), since: Date.now(), calls: 0 };
  }

  #received(batch: Batch<R>, response: OtlpResponse): void {
    const { status } = response;
    if (isRetryable(status)) return this.#failed(batch, `the collector responded with ${status}`, response.retryAfter);
    this.#batch = undefined;
    if (status < 200 || status > 299) {
      this.#drop('rejected', batch.records.length);
      this.tell({ kind: 'failure', text: `the collector responded with ${status}` });
      return;
    }
    const rejected = Math.min(batch.records.length, this.#rejected(response));
    this.#drop('rejected', rejected);
    this.tell({ kind: 'exported', count: batch.records.length - rejected });
  }

  /** Records that the collector has not accepted, by the body of its response. */
  #rejected({ body, type }: OtlpResponse): number {
    if (body?.length === 0) return 0;
    try {
      if (body === undefined) throw new Error(`it has more than ${LONGEST_RESPONSE} bytes`);
      if (!/^application\/x-protobuf\b/i.test(type)) throw new Error(`its type is "${type}"`);
      const { rejected, message } = this.codec.partialSuccess(body);
      if (rejected > 0 || message !== '')
        this.tell({ kind: 'failure', text: `the collector rejected ${rejected} ${this.codec.noun}: ${message}` });
      return Math.max(0, rejected);
    } catch (error) {
      this.tell({ kind: 'failure', text: `the response of the collector is malformed: ${(error as Error).message}` });
      return 0;
    }
  }

  #failed(batch: Batch<R>, text: string, retryAfter: string | undefined): void {
    const now = Date.now();
    const asked = askedPause(retryAfter, now);
    this.tell({ kind: 'failure', text: asked === undefined ? text : `${text}, no call for ${Math.ceil(asked / 1000)} s` });
    const pause = asked ?? pauseBefore(batch.calls);
    this.#pausedUntil = now + pause;
    if (batch.calls < MOST_CALLS && (asked !== undefined || now + pause - batch.since <= PATIENCE)) return;
    this.#batch = undefined;
    this.#drop('failed', batch.records.length);
  }

  #drop(reason: DropReason, count: number): void {
    if (count > 0) this.tell({ kind: 'dropped', reason, count });
  }
}
