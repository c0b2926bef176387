import { wordOf } from '../zone/offsets.js';
import type { Zone } from '../zone/zone.js';
import { QueuePlaceW, QueueW, UpstreamW } from './layout.js';

/**
 * Requests that wait for a member of an upstream (`queue`), for all workers: their number, and whose turn is next. Each request has a
 * ticket, and each worker shows the lowest ticket of its waiting requests. All but {@link isBusy}, {@link signal} and {@link wait} with the
 * zone's lock held.
 */
export class QueueMemory {
  /** @param head word index of the upstream */
  constructor(
    private readonly zone: Zone,
    private readonly head: number,
    private readonly workers: number,
  ) {}

  /** Makes room for it. False: the zone is full. */
  reserve(): boolean {
    const { zone, head } = this;
    if (zone.u32[head + UpstreamW.queue] !== 0) return true;
    const queue = zone.slab.calloc((QueueW.places + this.workers * QueuePlaceW.COUNT) * 4);
    zone.u32[head + UpstreamW.queue] = queue;
    return queue !== 0;
  }

  release(): void {
    const { u32, slab } = this.zone;
    if (u32[this.head + UpstreamW.queue] !== 0) slab.release(u32[this.head + UpstreamW.queue]!);
    u32[this.head + UpstreamW.queue] = 0;
  }

  /** True if a request waits for its turn in any worker. Read without the lock. */
  get isBusy(): boolean {
    for (let worker = 0; worker < this.workers; worker++)
      if (Atomics.load(this.zone.u32, this.#place(worker) + QueuePlaceW.ticket) !== 0) return true;
    return false;
  }

  /** Requests that wait, of all workers. */
  get size(): number {
    if (!this.#exists) return 0;
    let sum = 0;
    for (let worker = 0; worker < this.workers; worker++) sum += this.zone.u32[this.#place(worker) + QueuePlaceW.waiting]!;
    return sum;
  }

  get overflows(): number {
    return this.#exists ? this.zone.u32[this.#words + QueueW.overflows]! : 0;
  }

  reset(): void {
    if (this.#exists) this.zone.u32[this.#words + QueueW.overflows] = 0;
  }

  /** One request more waits with a worker. False: as many wait as may. */
  join(worker: number, limit: number): boolean {
    if (this.size >= limit) {
      this.zone.u32[this.#words + QueueW.overflows]!++;
      return false;
    }
    this.zone.u32[this.#place(worker) + QueuePlaceW.waiting]!++;
    return true;
  }

  leave(worker: number): void {
    this.zone.u32[this.#place(worker) + QueuePlaceW.waiting]!--;
  }

  /** A ticket, which is never 0. */
  takeTicket(): number {
    const next = this.#words + QueueW.nextTicket;
    this.zone.u32[next]!++;
    return (this.zone.u32[next] ||= 1);
  }

  /** The lowest ticket of a worker is this one now; 0: it has none. */
  show(worker: number, ticket: number): void {
    Atomics.store(this.zone.u32, this.#place(worker) + QueuePlaceW.ticket, ticket);
  }

  /** The worker whose turn is next, -1: no request waits. */
  get next(): number {
    if (!this.#exists) return -1;
    const { u32 } = this.zone;
    let first = -1;
    let lowest = 0;
    for (let worker = 0; worker < this.workers; worker++) {
      const ticket = u32[this.#place(worker) + QueuePlaceW.ticket]!;
      // Tickets begin again after 2^32.
      if (ticket === 0 || (first >= 0 && ((ticket - lowest) | 0) > 0)) continue;
      first = worker;
      lowest = ticket;
    }
    return first;
  }

  /** A worker that died waits for nothing. */
  dropWorker(worker: number): void {
    if (!this.#exists) return;
    this.zone.u32.fill(0, this.#place(worker), this.#place(worker) + QueuePlaceW.COUNT);
  }

  /** Wakes a worker that waits for its turn. Without the lock. */
  signal(worker: number): void {
    if (this.zone.shared) Atomics.notify(this.zone.i32, this.#place(worker) + QueuePlaceW.ticket);
  }

  /** Settles when this worker is woken. Undefined: memory of one thread, which no other thread would wake. Without the lock. */
  wait(worker: number): Promise<unknown> | undefined {
    if (!this.zone.shared) return undefined;
    const word = this.#place(worker) + QueuePlaceW.ticket;
    const { value } = Atomics.waitAsync(this.zone.i32, word, this.zone.i32[word]!);
    return typeof value === 'string' ? undefined : value;
  }

  get #exists(): boolean {
    return this.zone.u32[this.head + UpstreamW.queue] !== 0;
  }

  get #words(): number {
    return wordOf(this.zone.u32[this.head + UpstreamW.queue]!);
  }

  #place(worker: number): number {
    return this.#words + QueueW.places + worker * QueuePlaceW.COUNT;
  }
}
