import type { Zone } from '../zone/zone.js';
import { F, W, WeightClass } from './layout.js';
import { insertBetween, unlink } from './record-list.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** How many neighbours a member is compared with to find its place. */
const STEPS = 64;

/**
 * The classes of a rotation: for each weight the members in full health that have it, by current weight, the largest first; of equal ones
 * the first in the configuration. The keys that are compared are those of round 0, which differ as the current weights do.
 */
export class WeightClasses {
  /** @param list word that names the first class */
  constructor(
    private readonly zone: Zone,
    private readonly list: number,
  ) {}

  /** The first class, 0: there is none. */
  get first(): number {
    return this.zone.u32[this.list]!;
  }

  /** The class of a weight, made if need be; counts one more member of it. 0: the zone is full. */
  join(weight: number): number {
    const weightClass = this.#find(weight) || this.#create(weight);
    if (weightClass !== 0) this.zone.u32[wordOf(weightClass) + WeightClass.members]!++;
    return weightClass;
  }

  /** One member less of this class. The last one takes the class with it. */
  quit(weightClass: number): void {
    const { u32 } = this.zone;
    if (--u32[wordOf(weightClass) + WeightClass.members]! > 0) return;
    let link = this.list;
    while (u32[link] !== weightClass) link = wordOf(u32[link]!) + WeightClass.next;
    u32[link] = u32[wordOf(weightClass) + WeightClass.next]!;
    this.zone.slab.release(weightClass);
  }

  /**
   * Puts a member into its class where it belongs, which is almost always the end: who was chosen has the least weight. After a change of the
   * members it may belong further up; the search is bounded, so that in a class of many thousands a change costs a bounded disorder and
   * no time.
   */
  place(record: number): void {
    const { u32 } = this.zone;
    const words = wordOf(u32[wordOf(record) + W.weightClass]!);
    const tail = u32[words + WeightClass.tail]!;
    let after = tail;
    let steps = STEPS;
    while (after !== 0 && this.#precedes(record, after) && steps-- > 0) after = u32[wordOf(after) + W.before]!;
    if (steps < 0) after = this.#placeFromFront(record, words, tail);
    const next = u32[after === 0 ? words + WeightClass.head : wordOf(after) + W.next]!;
    insertBetween(this.zone, record, after, next, words + WeightClass.head, words + WeightClass.tail);
  }

  /** Takes a member out of its class. */
  take(record: number): void {
    const words = wordOf(this.zone.u32[wordOf(record) + W.weightClass]!);
    unlink(this.zone, record, words + WeightClass.head, words + WeightClass.tail);
  }

  /** Moves a member whose key became less to where it belongs now. */
  fallBack(record: number): void {
    const { u32 } = this.zone;
    const words = wordOf(u32[wordOf(record) + W.weightClass]!);
    if (u32[words + WeightClass.tail] === record) return;
    unlink(this.zone, record, words + WeightClass.head, words + WeightClass.tail);
    this.place(record);
  }

  /** All classes are empty from now on. */
  clear(): void {
    const { u32 } = this.zone;
    for (let weightClass = this.first; weightClass !== 0; weightClass = u32[wordOf(weightClass) + WeightClass.next]!) {
      u32[wordOf(weightClass) + WeightClass.head] = 0;
      u32[wordOf(weightClass) + WeightClass.tail] = 0;
    }
  }

  /** Adds to the keys what their weights are in `rounds` rounds. */
  advance(rounds: number): void {
    const { u32, f64 } = this.zone;
    for (let weightClass = this.first; weightClass !== 0; weightClass = u32[wordOf(weightClass) + WeightClass.next]!) {
      const growth = u32[wordOf(weightClass) + WeightClass.weight]! * rounds;
      for (let record = u32[wordOf(weightClass) + WeightClass.head]!; record !== 0; record = u32[wordOf(record) + W.next]!)
        f64[numberOf(record) + F.key]! += growth;
    }
  }

  #find(weight: number): number {
    const { u32 } = this.zone;
    let weightClass = this.first;
    while (weightClass !== 0 && u32[wordOf(weightClass) + WeightClass.weight] !== weight)
      weightClass = u32[wordOf(weightClass) + WeightClass.next]!;
    return weightClass;
  }

  #create(weight: number): number {
    const weightClass = this.zone.slab.calloc(WeightClass.COUNT * 4);
    if (weightClass === 0) return 0;
    const { u32 } = this.zone;
    u32[wordOf(weightClass) + WeightClass.weight] = weight;
    u32[wordOf(weightClass) + WeightClass.next] = u32[this.list]!;
    u32[this.list] = weightClass;
    return weightClass;
  }

  /** True if `record` is to be chosen before `other`. */
  #precedes(record: number, other: number): boolean {
    const { u32, f64 } = this.zone;
    const difference = f64[numberOf(record) + F.key]! - f64[numberOf(other) + F.key]!;
    return difference > 0 || (difference === 0 && u32[wordOf(record) + W.order]! < u32[wordOf(other) + W.order]!);
  }

  /** The member before its place, 0: none. */
  #placeFromFront(record: number, words: number, tail: number): number {
    const { u32 } = this.zone;
    let after = 0;
    let next = u32[words + WeightClass.head]!;
    for (let steps = STEPS; steps > 0 && next !== 0; steps--) {
      if (this.#precedes(record, next)) return after;
      after = next;
      next = u32[wordOf(next) + W.next]!;
    }
    return tail;
  }
}
