import type { Channel, Channels } from '../../core/contract/channels.js';
import type { Exemplar } from '../../core/contract/families.js';
import type { HttpRequest } from '../../core/contract/http.js';

/** Rows that have exemplars at most. */
const MOST_ROWS = 2000;

/** Exemplars of a row by the power of two that their value is below. */
type RowExemplars = Map<number, Exemplar>;
/** New exemplars of a worker, by row and power. */
type Message = readonly (readonly [key: string, power: number, exemplar: Exemplar])[];

/**
 * The last sampled request of each row and power of two: in a worker until they are sent, in the main thread for monitoring. Nothing else than the
 * requests that a trace has recorded comes here.
 */
export class Exemplars {
  readonly #rows = new Map<string, RowExemplars>();
  readonly #channel: Channel<never, never, Message>;

  constructor(channels: Channels) {
    this.#channel = channels.open('exemplars', {
      told: (message) => {
        for (const [key, power, exemplar] of message) this.#put(key, power, exemplar);
      },
    });
  }

  /** Notes a sampled request that has ended. In a worker. @param time milliseconds */
  note(key: string, request: HttpRequest, time: number): void {
    const [traceId, spanId] = [request.variable('trace_id'), request.variable('span_id')];
    if (traceId === undefined || spanId === undefined) return;
    this.#put(key, 32 - Math.clz32(time), { value: time, at: request.startTime + time, traceId, spanId });
  }

  /** Sends what is new to the main thread. In a worker. */
  send(): void {
    if (this.#rows.size === 0) return;
    this.#channel.tell(Array.from(this.#rows, ([key, row]) => Array.from(row, ([power, one]) => [key, power, one] as const)).flat());
    this.#rows.clear();
  }

  /** Exemplars of a row. In the main thread. */
  of(key: string): readonly Exemplar[] | undefined {
    const row = this.#rows.get(key);
    return row && [...row.values()];
  }

  /** Forgets rows that are gone. @param keys of all rows */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key);
  }

  #put(key: string, power: number, exemplar: Exemplar): void {
    const row = this.#rows.get(key) ?? new Map<number, Exemplar>();
    if (row.size === 0 && this.#rows.size >= MOST_ROWS) return;
    row.set(power, exemplar);
    this.#rows.set(key, row);
  }
}
