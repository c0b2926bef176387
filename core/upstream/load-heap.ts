import { numberOf, wordOf } from '../zone/offsets.js';
import type { Zone } from '../zone/zone.js';
import { F, Order, RotationW, W } from './layout.js';
import { SlowStart } from './slow-start.js';

const LEAST_ROOM = 16;

/**
 * Members by load: a binary heap of records in the zone, the one with the fewest active requests for its weight on top. Of members with equal
 * load those come first that have had less of their share, which their keys tell: a key grows by 1/weight with each choice.
 */
export class LoadHeap {
  /** @param head word index of the rotation */
  constructor(
    private readonly zone: Zone,
    private readonly head: number,
  ) {}

  /** The record on top, 0: there is none. */
  get top(): number {
    return this.size === 0 ? 0 : this.at(0);
  }

  /** Makes room for `records`. False: the zone is full. */
  reserve(records: number): boolean {
    const { zone, head } = this;
    const room = zone.u32[head + RotationW.heapRoom]!;
    if (records <= room) return true;
    const larger = Math.max(records, room * 2, LEAST_ROOM);
    const heap = zone.slab.alloc(larger * 4);
    if (heap === 0) return false;
    const old = zone.u32[head + RotationW.heap]!;
    zone.bytes.copyWithin(heap, old, old + this.size * 4);
    zone.u32[head + RotationW.heap] = heap;
    zone.u32[head + RotationW.heapRoom] = larger;
    if (old !== 0) zone.slab.release(old);
    return true;
  }

  /** Gives the memory back. */
  release(): void {
    const { u32, slab } = this.zone;
    if (u32[this.head + RotationW.heap] !== 0) slab.release(u32[this.head + RotationW.heap]!);
    u32.fill(0, this.head + RotationW.heap, this.head + RotationW.heapSize + 1);
  }

  clear(): void {
    this.zone.u32[this.head + RotationW.heapSize] = 0;
  }

  add(record: number): void {
    const place = this.zone.u32[this.head + RotationW.heapSize]!++;
    this.#put(place, record);
    this.#rise(place);
  }

  remove(record: number): void {
    const place = this.#placeOf(record);
    const last = this.at(--this.zone.u32[this.head + RotationW.heapSize]!);
    if (last === record) return;
    this.#put(place, last);
    this.update(last);
  }

  /** Moves a record to where it belongs after its load or key changed. */
  update(record: number): void {
    const place = this.#placeOf(record);
    if (this.#rise(place) === place) this.#sink(place);
  }

  get size(): number {
    return this.zone.u32[this.head + RotationW.heapSize]!;
  }

  at(place: number): number {
    return this.zone.u32[wordOf(this.zone.u32[this.head + RotationW.heap]!) + place]!;
  }

  #put(place: number, record: number): void {
    const { u32 } = this.zone;
    u32[wordOf(u32[this.head + RotationW.heap]!) + place] = record;
    u32[wordOf(record) + W.next] = place;
  }

  #placeOf(record: number): number {
    return this.zone.u32[wordOf(record) + W.next]!;
  }

  /** @returns where it has come to */
  #rise(from: number): number {
    const record = this.at(from);
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >>> 1;
      const above = this.at(parent);
      if (!this.#precedes(record, above)) break;
      this.#put(place, above);
      place = parent;
    }
    if (place !== from) this.#put(place, record);
    return place;
  }

  #sink(from: number): void {
    const size = this.size;
    const record = this.at(from);
    let place = from;
    for (let child = place * 2 + 1; child < size; child = place * 2 + 1) {
      if (child + 1 < size && this.#precedes(this.at(child + 1), this.at(child))) child++;
      const below = this.at(child);
      if (!this.#precedes(below, record)) break;
      this.#put(place, below);
      place = child;
    }
    if (place !== from) this.#put(place, record);
  }

  /** What is waited for on a member: its requests, or by time how long the next one would take if they were answered one after the other. */
  #busyness(words: number): number {
    const { u32 } = this.zone;
    const active = u32[words + W.active]!;
    return u32[this.head + RotationW.order]! > Order.load ? (active + 1) * u32[words + W.measured]! : active;
  }

  /** True if `one` is to be chosen before `other`. */
  #precedes(one: number, other: number): boolean {
    const { u32, f64 } = this.zone;
    const a = wordOf(one);
    const b = wordOf(other);
    const load = this.#busyness(a) * SlowStart.storedWeight(u32, b) - this.#busyness(b) * SlowStart.storedWeight(u32, a);
    if (load !== 0) return load < 0;
    const key = f64[numberOf(one) + F.key]! - f64[numberOf(other) + F.key]!;
    return key < 0 || (key === 0 && u32[a + W.order]! < u32[b + W.order]!);
  }
}
