import { numberOf, wordOf } from '../zone/offsets.js';
import type { Zone } from '../zone/zone.js';
import { F, HEAP_ENTRY_BYTES, HeapF, HeapW, Order, RotationW, W } from './layout.js';
import { SlowStart } from './slow-start.js';

const LEAST_ROOM = 16;
/** Entries below one: their figures share two or three lines of the processor's cache. */
const CHILDREN = 4;

/**
 * Members by load: a heap in the zone, the one with the fewest active requests for its weight on top. Of members with equal load those come
 * first that have had less of their share, which their keys tell: a key grows by 1/weight with each choice.
 *
 * The figures that are compared are in the heap itself, as they were when the member was last put in its place: going through the
 * records of many members costs more than all else.
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
    const heap = zone.slab.alloc(larger * HEAP_ENTRY_BYTES);
    if (heap === 0) return false;
    const old = zone.u32[head + RotationW.heap]!;
    zone.bytes.copyWithin(heap, old, old + this.size * HEAP_ENTRY_BYTES);
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
    this.#rise(this.zone.u32[this.head + RotationW.heapSize]!++, record);
  }

  remove(record: number): void {
    const place = this.#placeOf(record);
    const last = this.at(--this.zone.u32[this.head + RotationW.heapSize]!);
    if (last !== record) this.#settle(place, last);
  }

  /** Moves a record to where it belongs after its load or key changed. */
  update(record: number): void {
    this.#settle(this.#placeOf(record), record);
  }

  get size(): number {
    return this.zone.u32[this.head + RotationW.heapSize]!;
  }

  at(place: number): number {
    return this.zone.u32[wordOf(this.#entry(place)) + HeapW.record]!;
  }

  #placeOf(record: number): number {
    return this.zone.u32[wordOf(record) + W.next]!;
  }

  #entry(place: number): number {
    return this.zone.u32[this.head + RotationW.heap]! + place * HEAP_ENTRY_BYTES;
  }

  /** Puts a record into the place of another one, or into its own, and moves it on from there. */
  #settle(place: number, record: number): void {
    if (this.#rise(place, record) === place) this.#sink(place);
  }

  /** @returns where it has come to */
  #rise(from: number, record: number): number {
    const { f64, u32 } = this.zone;
    const words = wordOf(record);
    const load = this.#loadOf(words);
    const key = f64[numberOf(record) + F.key]!;
    const order = u32[words + W.order]!;
    let place = from;
    while (place > 0) {
      const parent = Math.floor((place - 1) / CHILDREN);
      const above = this.#entry(parent);
      if (!this.#follows(above, load, key, order)) break;
      this.#move(above, place);
      place = parent;
    }
    this.#put(place, load, key, record, order);
    return place;
  }

  #sink(from: number): void {
    const { f64, u32 } = this.zone;
    const { size } = this;
    const entry = this.#entry(from);
    const load = f64[numberOf(entry) + HeapF.load]!;
    const key = f64[numberOf(entry) + HeapF.key]!;
    const record = u32[wordOf(entry) + HeapW.record]!;
    const order = u32[wordOf(entry) + HeapW.order]!;
    let place = from;
    for (;;) {
      const child = this.#leastBelow(place, size);
      if (child === 0 || this.#follows(this.#entry(child), load, key, order)) break;
      this.#move(this.#entry(child), place);
      place = child;
    }
    if (place !== from) this.#put(place, load, key, record, order);
  }

  /** The place of the first one of those below, 0: there is none. */
  #leastBelow(place: number, size: number): number {
    const { f64, u32 } = this.zone;
    const first = place * CHILDREN + 1;
    if (first >= size) return 0;
    const end = Math.min(first + CHILDREN, size);
    let best = first;
    let entry = this.#entry(first);
    for (let child = first + 1; child < end; child++) {
      const other = entry + (child - best) * HEAP_ENTRY_BYTES;
      const numbers = numberOf(other);
      if (this.#follows(entry, f64[numbers + HeapF.load]!, f64[numbers + HeapF.key]!, u32[wordOf(other) + HeapW.order]!)) {
        best = child;
        entry = other;
      }
    }
    return best;
  }

  /** Load of a member for its weight: its requests, or by time how long the next one would take if they were served one after the other. */
  #loadOf(words: number): number {
    const { u32 } = this.zone;
    const active = u32[words + W.active]!;
    const busyness = u32[this.head + RotationW.order]! > Order.load ? (active + 1) * u32[words + W.measured]! : active;
    return busyness / SlowStart.storedWeight(u32, words);
  }

  /** True if the record of an entry is to be chosen after one with these figures. */
  #follows(entry: number, load: number, key: number, order: number): boolean {
    const { f64, u32 } = this.zone;
    const numbers = numberOf(entry);
    const byLoad = f64[numbers + HeapF.load]! - load;
    if (byLoad !== 0) return byLoad > 0;
    const byKey = f64[numbers + HeapF.key]! - key;
    return byKey > 0 || (byKey === 0 && u32[wordOf(entry) + HeapW.order]! > order);
  }

  #move(entry: number, place: number): void {
    const { f64, u32 } = this.zone;
    const numbers = numberOf(entry);
    const words = wordOf(entry);
    this.#put(place, f64[numbers + HeapF.load]!, f64[numbers + HeapF.key]!, u32[words + HeapW.record]!, u32[words + HeapW.order]!);
  }

  #put(place: number, load: number, key: number, record: number, order: number): void {
    const { f64, u32 } = this.zone;
    const entry = this.#entry(place);
    const numbers = numberOf(entry);
    const words = wordOf(entry);
    f64[numbers + HeapF.load] = load;
    f64[numbers + HeapF.key] = key;
    u32[words + HeapW.record] = record;
    u32[words + HeapW.order] = order;
    u32[wordOf(record) + W.next] = place;
  }
}
