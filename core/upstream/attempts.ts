import type { UpstreamMemory } from './upstream-memory.js';
import { F, Flag, Order, UNIT, W } from './layout.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** Accounts of the requests that a worker sends to members: passive failure detection as in nginx. Called with the zone's lock held. */
export class Attempts {
  /** @param worker 0-based; -1: a thread that carries no traffic */
  constructor(
    private readonly memory: UpstreamMemory,
    private readonly worker: number,
  ) {}

  /** A request goes to the member. */
  begin(record: number, now: number): void {
    const { u32, f64 } = this.memory.zone;
    const words = wordOf(record);
    f64[numberOf(record) + F.requests]!++;
    f64[numberOf(record) + F.selected] = now;
    u32[words + W.active]!++;
    if (this.memory.order > Order.load && u32[words + W.active] === 1) this.memory.rotationOf(record).times.note(record, now);
    if (this.#counts()) u32[words + W.perWorker + this.worker]!++;
    if (u32[words + W.maxConns] !== 0 || this.memory.order !== Order.turns) this.memory.rotationOf(record).settle(record, now);
  }

  /** A request goes to the same member once more. */
  repeat(record: number): void {
    this.memory.zone.f64[numberOf(record) + F.requests]!++;
  }

  /** The member works, which counts before the session with it ends. */
  succeed(record: number, now: number): void {
    if (!this.#isOnTrial(record)) return;
    this.memory.recovered(record, now);
    this.memory.rotationOf(record).settle(record, now);
  }

  /** The member was chosen and gets no request. Nothing is known of it. */
  cancel(record: number, now: number): void {
    this.memory.zone.f64[numberOf(record) + F.requests]!--;
    this.#release(record, now);
    this.memory.rotationOf(record).settle(record, now);
  }

  /** A request has ended. True if it failed, and that was one failure too many: the member gets no more for its fail_timeout. */
  end(record: number, failed: boolean, now: number): boolean {
    const { memory } = this;
    const { u32 } = memory.zone;
    this.#release(record, now);
    let disabled = false;
    if (failed) disabled = this.#fail(record, now);
    else if (this.#isOnTrial(record)) memory.recovered(record, now);
    else if (u32[wordOf(record) + W.maxConns] === 0 && memory.order === Order.turns) return false;
    memory.rotationOf(record).settle(record, now);
    return disabled;
  }

  /** It has failed, and gets one request or a few that decide about it. */
  #isOnTrial(record: number): boolean {
    const { u32 } = this.memory.zone;
    const words = wordOf(record);
    return u32[words + W.fails] !== 0 && (u32[words + W.flags]! & Flag.TRIAL) !== 0;
  }

  /** The member has one request less. */
  #release(record: number, now: number): void {
    const { memory } = this;
    const { u32 } = memory.zone;
    const words = wordOf(record);
    if (u32[words + W.active] !== 0) u32[words + W.active]!--;
    if (this.#counts() && u32[words + W.perWorker + this.worker] !== 0) u32[words + W.perWorker + this.worker]!--;
    if (memory.order > Order.load) memory.rotationOf(record).times.note(record, now);
  }

  /** True if this thread has a place in the records. */
  #counts(): boolean {
    return this.worker >= 0 && this.worker < this.memory.workers;
  }

  /** As ngx_http_upstream_free_round_robin_peer. The only member of an upstream is never marked. */
  #fail(record: number, now: number): boolean {
    const { memory } = this;
    const { u32, f64 } = memory.zone;
    const words = wordOf(record);
    u32[words + W.failed]!++;
    if (memory.count === 1) return false;
    const fails = ++u32[words + W.fails]!;
    f64[numberOf(record) + F.checked] = now;
    u32[words + W.flags]! &= ~Flag.TRIAL;
    const maxFails = u32[words + W.maxFails]!;
    if (maxFails === 0) return false;
    const loss = Math.floor(u32[words + W.weight]! / UNIT / maxFails) * UNIT;
    u32[words + W.effective] = Math.max(u32[words + W.effective]! - loss, 0);
    if (fails < maxFails) return false;
    memory.tally.unavailable(record, now);
    return true;
  }
}
