import { numberOf, wordOf } from '../zone/offsets.js';
import type { Zone } from '../zone/zone.js';
import { F, isInflight, Order, orderOf, RotationW, W } from './layout.js';

/** Longest time that counts, so that products with it stay exact. Milliseconds. */
const LONGEST = 2 ** 31;
/** Every this many choices one member is chosen out of its turn: otherwise it would stay unnoticed that a slow one has become faster. */
const PROBE_EVERY = 64;

/**
 * The response times that members are compared by (`least_time`), in a rotation that goes by them. A time is kept beside the record, as it was
 * when the member got its place in the heap, in whole milliseconds, 1 at least. Called with the zone's lock held.
 */
export class ResponseTimes {
  /** @param head word index of the rotation */
  constructor(
    private readonly zone: Zone,
    private readonly head: number,
  ) {}

  get #order(): Order {
    return orderOf(this.zone.u32[this.head + RotationW.order]!);
  }

  get inUse(): boolean {
    return this.#order > Order.load;
  }

  /**
   * Takes the present time of a member; with `inflight` for as long as nothing has come back from a member with requests on it, that counts if
   * it is longer. True if it is another one than before.
   */
  measure(record: number, now: number): boolean {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    const order = this.#order;
    let time = f64[numberOf(record) + timeOf(order)]!;
    if (isInflight(order) && u32[words + W.active] !== 0) time = Math.max(time, (now - u32[words + W.since]!) >>> 0);
    const rounded = Math.min(Math.max(Math.round(time), 1), LONGEST);
    if (u32[words + W.measured] === rounded) return false;
    u32[words + W.measured] = rounded;
    return true;
  }

  /** Requests are on the member since now, or one has come back now. */
  note(record: number, now: number): void {
    if (isInflight(this.#order)) this.zone.u32[wordOf(record) + W.since] = now >>> 0;
  }

  /** True if this choice is one to ask some member for its time, and which: its place in a heap. -1: it is not. @param size of the heap */
  probe(size: number): number {
    const count = ++this.zone.u32[this.head + RotationW.choices]!;
    return count % PROBE_EVERY === 0 && size > 0 ? (count / PROBE_EVERY) % size : -1;
  }
}

/** The average that an order goes by. */
function timeOf(order: Order): F {
  if (order === Order.responseTime || order === Order.responseInflight) return F.responseTime;
  return order === Order.headerTime || order === Order.headerInflight ? F.headerTime : F.connectTime;
}
