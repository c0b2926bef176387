import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { DropReason, ExportSettings, FromExporter } from './export-messages.js';
import { OtlpCalls, type AssertAllowed, type OtlpResponse } from './otlp-call.js';
import { originOf, readableSpan, type Origin } from './readable-spans.js';
import { isRetryable, pauseBefore } from './retry.js';
import type { SpanRecord } from './span-records.js';

/** A batch is given up after this many calls, or milliseconds. */
const MOST_CALLS = 6;
const PATIENCE = 60_000;

interface Batch {
  readonly spans: readonly SpanRecord[];
  readonly payload: Uint8Array;
  readonly since: number;
  calls: number;
}

/** Queue of spans, and the calls that send them: one at a time. */
export class SpanExporter {
  readonly #calls: OtlpCalls;
  readonly #origin: Origin;
  readonly #waiting: SpanRecord[] = [];
  /** The batch that is being sent, or that waits for its next call. */
  #batch: Batch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isCalling = false;
  /** No call before (epoch milliseconds). */
  #pausedUntil = 0;
  #onEmpty: (() => void) | undefined;

  /** @param waits notified of the number of spans that wait */
  constructor(
    private readonly settings: ExportSettings,
    assertAllowed: AssertAllowed,
    private readonly tell: (message: FromExporter) => void,
    private readonly waits: (count: number) => void,
  ) {
    this.#calls = new OtlpCalls(settings, assertAllowed);
    this.#origin = originOf(settings.resource, settings.version);
  }

  get #count(): number {
    return this.#waiting.length + (this.#batch?.spans.length ?? 0);
  }

  add(spans: readonly SpanRecord[]): void {
    const room = Math.max(0, this.settings.limit - this.#count);
    const taken = spans.length <= room ? spans : spans.slice(0, room);
    this.#drop('queue_full', spans.length - taken.length);
    for (const span of taken) this.#waiting.push(span);
    this.#schedule();
  }

  /** Spans that are not in a call, for a successor. */
  takeWaiting(): SpanRecord[] {
    const taken = [...(this.#isCalling ? [] : (this.#batch?.spans ?? [])), ...this.#waiting];
    this.#waiting.length = 0;
    if (!this.#isCalling) this.#batch = undefined;
    clearTimeout(this.#timer);
    return taken;
  }

  /** Sends everything, each batch once, without pauses; then ends. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#isCalling) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    while (this.#count > 0 && Date.now() >= this.#pausedUntil) {
      const { length } = this.#waiting;
      await this.#send();
      // A batch that could not be sent is still there: no further one will be accepted.
      if (this.#batch !== undefined || this.#waiting.length === length) break;
    }
    this.#drop('failed', this.#count);
    this.#calls.close();
  }

  #schedule(): void {
    this.waits(this.#count);
    if (this.#isCalling || this.#count === 0 || this.#onEmpty !== undefined) return;
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

  #nextBatch(): Batch {
    const spans = this.#waiting.splice(0, this.settings.batchSize);
    const payload = ProtobufTraceSerializer.serializeRequest(spans.map((span) => readableSpan(span, this.#origin))) ?? new Uint8Array();
    return { spans, payload, since: Date.now(), calls: 0 };
  }

  #received(batch: Batch, response: OtlpResponse): void {
    const { status } = response;
    if (isRetryable(status)) return this.#failed(batch, `the collector responded with ${status}`, response.retryAfter);
    this.#batch = undefined;
    if (status < 200 || status > 299) {
      this.#drop('rejected', batch.spans.length);
      this.tell({ kind: 'failure', text: `the collector responded with ${status}` });
      return;
    }
    const rejected = Math.min(batch.spans.length, this.#rejected(response));
    this.#drop('rejected', rejected);
    this.tell({ kind: 'exported', count: batch.spans.length - rejected });
  }

  /** Spans that the collector has not accepted, by the body of its response. */
  #rejected({ body, type }: OtlpResponse): number {
    if (body.length === 0) return 0;
    try {
      if (!/^application\/x-protobuf\b/i.test(type)) throw new Error(`its type is "${type}"`);
      const { partialSuccess } = ProtobufTraceSerializer.deserializeResponse(body);
      const { rejectedSpans: rejected = 0 } = partialSuccess ?? {};
      const { errorMessage = '' } = partialSuccess ?? {};
      if (rejected > 0 || errorMessage !== '')
        this.tell({ kind: 'failure', text: `the collector rejected ${rejected} spans: ${errorMessage}` });
      return Math.max(0, rejected);
    } catch (error) {
      this.tell({ kind: 'failure', text: `the response of the collector is malformed: ${(error as Error).message}` });
      return 0;
    }
  }

  #failed(batch: Batch, text: string, retryAfter: string | undefined): void {
    const now = Date.now();
    this.tell({ kind: 'failure', text });
    const pause = pauseBefore(batch.calls, retryAfter, now);
    this.#pausedUntil = now + pause;
    if (batch.calls < MOST_CALLS && now + pause - batch.since <= PATIENCE) return;
    this.#batch = undefined;
    this.#drop('failed', batch.spans.length);
  }

  #drop(reason: DropReason, count: number): void {
    if (count > 0) this.tell({ kind: 'dropped', reason, count });
  }
}
