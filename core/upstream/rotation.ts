import type { Zone } from '../zone/zone.js';
import { isWithin } from './elapsed.js';
import { F, Flag, Home, Order, orderOf, RotationF, RotationW, UNIT, W, WeightClass } from './layout.js';
import { LoadHeap } from './load-heap.js';
import { insertBetween, unlink } from './record-list.js';
import { ResponseTimes } from './response-times.js';
import { SlowStart } from './slow-start.js';
import { WeightClasses } from './weight-classes.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** How many resting members one choice looks at. */
const LOOKS = 16;
/** Turns in a row that members in their slow start let pass in one choice. */
const MOST_PASSED = 32;
/** Rounds after which the keys are set to the present, long before they lose digits. */
const MAX_ROUNDS = 2 ** 24;

/** A member that a request has tried. */
export interface Tried {
  readonly offset: number;
  /** Its record may be in other use by now. */
  readonly removed: boolean;
}

/**
 * Smooth weighted round robin, the sequence of ngx_http_upstream_get_peer: in each round the current weight of every member that may be
 * chosen grows by its effective weight; the largest one is chosen, the first of equals, and the sum of all is taken off it. An effective
 * weight that failures reduced grows by one a round.
 *
 * Here a round does not touch all members. Those in full health and of one weight grow alike, so their order among themselves never
 * changes: they are in a list by current weight, of which only the front is looked at, and the growth is computed from the number of
 * rounds. A chosen member moves after the others of its class. Members with a reduced weight are few and are looked at one by one. Members
 * that cannot be chosen (down, full, resting after failures) are elsewhere; as in nginx their current weight does not move meanwhile.
 *
 * The lists are in the zone, common to all workers. Everything here runs with the zone's lock held.
 */
export class Rotation {
  readonly classes: WeightClasses;
  readonly slowStart: SlowStart;
  readonly times: ResponseTimes;
  readonly #heap: LoadHeap;
  /** Word and number indices of the head. */
  readonly #words: number;
  readonly #numbers: number;

  constructor(
    private readonly zone: Zone,
    head: number,
    /** True if it is the one of the backup members. */
    private readonly backup: boolean,
  ) {
    this.#words = wordOf(head);
    this.#numbers = numberOf(head);
    this.classes = new WeightClasses(zone, this.#words + RotationW.classes);
    this.slowStart = new SlowStart(zone, this.#words);
    this.times = new ResponseTimes(zone, this.#words);
    this.#heap = new LoadHeap(zone, this.#words);
  }

  get order(): Order {
    return orderOf(this.zone.u32[this.#words + RotationW.order]!);
  }

  /** Makes room for `records` in an order, by default the current one. False: the zone is full. */
  reserve(records: number, order = this.order): boolean {
    return order === Order.turns || this.#heap.reserve(records);
  }

  /** Uses another order from now on. The rotation is empty meanwhile. */
  setOrder(order: Order): void {
    this.clear();
    if (order === Order.turns) this.#heap.release();
    this.zone.u32[this.#words + RotationW.order] = order;
  }

  /** Gives its memory back. */
  release(): void {
    this.#heap.release();
  }

  /** Chooses a member that was not tried, or 0. @param now epoch milliseconds */
  pick(now: number, tried: readonly Tried[] | undefined): number {
    if (this.zone.u32[this.#words + RotationW.resting] !== 0) this.#reinstateRested(now, LOOKS);
    if (tried === undefined || tried.length === 0) return this.#pickAwake(now);
    for (const peer of tried) if (this.#owns(peer)) this.#mark(peer.offset, Flag.TRIED, now);
    const chosen = this.#pickAwake(now);
    for (const peer of tried) if (this.#owns(peer)) this.#mark(peer.offset, 0, now);
    return chosen;
  }

  /** Moves a member to the list where it belongs after something happened to it. Its place stays if that is where it is. */
  settle(record: number, now: number): void {
    const home = this.#homeOf(record, now);
    if (home === this.zone.u32[wordOf(record) + W.home]) {
      if (home !== Home.heap) return;
      if (this.times.inUse) this.times.measure(record, now);
      this.#heap.update(record);
      return;
    }
    this.leave(record);
    if (home === Home.heap && this.times.inUse) this.times.measure(record, now);
    this.#enter(record, home);
  }

  /** Takes a member out of its list; its current weight is kept. */
  leave(record: number): void {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    const home = u32[words + W.home];
    u32[words + W.home] = Home.none;
    if (home === Home.weightClass) {
      const weight = this.#classWeight(record);
      this.classes.take(record);
      f64[numberOf(record) + F.key]! += weight * f64[this.#numbers + RotationF.rounds]!;
      f64[this.#numbers + RotationF.total]! -= weight;
    } else if (home === Home.heap) this.#heap.remove(record);
    else if (home === Home.suspect) unlink(this.zone, record, this.#words + RotationW.suspects, 0);
    else if (home === Home.resting) {
      if (u32[this.#words + RotationW.hand] === record) u32[this.#words + RotationW.hand] = u32[words + W.next]!;
      unlink(this.zone, record, this.#words + RotationW.resting, 0);
    }
  }

  /** Forgets all lists after a thread died in the middle of changing them; {@link restore} puts the members back one by one. */
  clear(): void {
    const { u32, f64 } = this.zone;
    f64[this.#numbers + RotationF.rounds] = 0;
    f64[this.#numbers + RotationF.total] = 0;
    u32[this.#words + RotationW.suspects] = 0;
    u32[this.#words + RotationW.resting] = 0;
    u32[this.#words + RotationW.hand] = 0;
    this.classes.clear();
    this.#heap.clear();
    this.slowStart.clear();
  }

  restore(record: number, now: number): void {
    const { u32, f64 } = this.zone;
    u32[wordOf(record) + W.home] = Home.none;
    u32[wordOf(record) + W.flags]! &= ~Flag.TRIED;
    f64[numberOf(record) + F.key] = 0;
    this.slowStart.restore(record);
    this.settle(record, now);
  }

  #pickAwake(now: number): number {
    const chosen = this.#choose(now);
    if (chosen !== 0 || this.zone.u32[this.#words + RotationW.resting] === 0) return chosen;
    // Before giving up: a member that was not checked for some time may have rested enough.
    return this.#reinstateRested(now, Infinity) ? this.#choose(now) : 0;
  }

  #choose(now: number): number {
    const chosen = this.order === Order.turns ? this.#chooseInTurn(now) : this.#chooseByLoad(now);
    if (chosen !== 0) this.beginTrial(chosen, now);
    return chosen;
  }

  /** Where hardly anybody has much of its weight, the last one asked is taken. */
  #chooseInTurn(now: number): number {
    let chosen = this.#chooseByTurns(now);
    if (!this.slowStart.active) return chosen;
    for (let passed = 0; passed < MOST_PASSED && chosen !== 0 && this.slowStart.passes(chosen, now); passed++)
      chosen = this.#chooseByTurns(now);
    return chosen;
  }

  /**
   * The least loaded one. Its key grows by its share of a round, from where the others are at least, so that no member saves turns up. It gets
   * its new place when it is settled with the request that it was chosen for.
   */
  #chooseByLoad(now: number): number {
    if (this.slowStart.active) this.#refreshLoad(now);
    const { u32, f64 } = this.zone;
    const chosen = this.times.inUse ? this.#fastest(now) : this.#heap.top;
    if (chosen === 0) return 0;
    const words = wordOf(chosen);
    const reached = Math.max(f64[numberOf(chosen) + F.key]!, f64[this.#numbers + RotationF.rounds]!);
    const effective = Math.max(u32[words + W.effective]!, 1);
    f64[this.#numbers + RotationF.rounds] = reached;
    const share = SlowStart.storedWeight(u32, words) / u32[words + W.weight]!;
    f64[numberOf(chosen) + F.key] = reached + UNIT / (effective * share);
    u32[words + W.effective] = Math.min(effective + UNIT, u32[words + W.weight]!);
    return chosen;
  }

  /** The one on top, unless it has become slower since it was put there. */
  #fastest(now: number): number {
    const probed = this.times.probe(this.#heap.size);
    if (probed >= 0) return this.#heap.at(probed);
    for (let looks = 0; looks < LOOKS && this.#heap.top !== 0 && this.times.measure(this.#heap.top, now); looks++)
      this.#heap.update(this.#heap.top);
    return this.#heap.top;
  }

  /** One member in its slow start has more weight by now. */
  #refreshLoad(now: number): void {
    const record = this.slowStart.refresh(now);
    if (this.zone.u32[wordOf(record) + W.home] === Home.heap) this.#heap.update(record);
  }

  #chooseByTurns(now: number): number {
    const { u32, f64 } = this.zone;
    const rounds = f64[this.#numbers + RotationF.rounds]! + 1;
    let best = 0;
    let highest = -Infinity;
    for (let weightClass = this.classes.first; weightClass !== 0;) {
      const words = wordOf(weightClass);
      const front = u32[words + WeightClass.head]!;
      if (front !== 0) {
        const current = f64[numberOf(front) + F.key]! + u32[words + WeightClass.weight]! * rounds;
        if (current > highest || (current === highest && this.#isBefore(front, best))) {
          best = front;
          highest = current;
        }
      }
      weightClass = u32[words + WeightClass.next]!;
    }
    let total = f64[this.#numbers + RotationF.total]!;
    let recovered = false;
    for (let record = u32[this.#words + RotationW.suspects]!; record !== 0; record = u32[wordOf(record) + W.next]!) {
      const words = wordOf(record);
      const effective = u32[words + W.effective]!;
      const current = f64[numberOf(record) + F.key]! + effective;
      f64[numberOf(record) + F.key] = current;
      total += effective;
      if (effective < u32[words + W.weight]!) u32[words + W.effective] = Math.min(effective + UNIT, u32[words + W.weight]!);
      if (effective + UNIT >= u32[words + W.weight]!) recovered = true;
      if (current > highest || (current === highest && this.#isBefore(record, best))) {
        best = record;
        highest = current;
      }
    }
    if (best === 0) return 0;
    f64[this.#numbers + RotationF.rounds] = rounds;
    this.#take(best, total);
    if (recovered) this.#reinstate(now);
    if (rounds >= MAX_ROUNDS) this.#rebase(rounds);
    return best;
  }

  /** Takes the total off the chosen one, and moves it after the others of its class. */
  #take(record: number, total: number): void {
    const { u32, f64 } = this.zone;
    f64[numberOf(record) + F.key]! -= total;
    if (u32[wordOf(record) + W.home] === Home.weightClass) this.classes.fallBack(record);
  }

  /** A member was chosen: begins a new window for counting failures, in which a member that failed too often has this one trial. */
  beginTrial(record: number, now: number): void {
    const { u32, f64 } = this.zone;
    const numbers = numberOf(record);
    if (isWithin(u32[wordOf(record) + W.failTimeout]!, f64[numbers + F.checked]!, now)) return;
    f64[numbers + F.checked] = now;
    u32[wordOf(record) + W.flags]! |= Flag.TRIAL;
    if (u32[wordOf(record) + W.fails] !== 0) this.settle(record, now);
  }

  /** True if a member may be chosen now. @param idle flags of which none may be set */
  isUsable(record: number, now: number, idle: number = Flag.IDLE): boolean {
    const home = this.#homeOf(record, now, idle);
    return home !== Home.none && home !== Home.resting;
  }

  /** Members whose weight is whole again go back to their class. */
  #reinstate(now: number): void {
    const { u32 } = this.zone;
    for (let record = u32[this.#words + RotationW.suspects]!; record !== 0;) {
      const next = u32[wordOf(record) + W.next]!;
      this.settle(record, now);
      record = next;
    }
  }

  /** Looks at up to `limit` resting members, going on where the last look ended. True if one may be tried again. */
  #reinstateRested(now: number, limit: number): boolean {
    const { u32 } = this.zone;
    let woken = false;
    let record = u32[this.#words + RotationW.hand]!;
    let wrapped = record === 0;
    if (wrapped) record = u32[this.#words + RotationW.resting]!;
    const first = record;
    for (let seen = 0; seen < limit && record !== 0; seen++) {
      const next = u32[wordOf(record) + W.next]!;
      this.settle(record, now);
      if (u32[wordOf(record) + W.home] !== Home.resting) woken = true;
      record = next;
      if (record === 0 && !wrapped) {
        wrapped = true;
        record = u32[this.#words + RotationW.resting]!;
      }
      if (wrapped && record === first) break;
    }
    u32[this.#words + RotationW.hand] = record;
    return woken;
  }

  #homeOf(record: number, now: number, idle: number = Flag.IDLE): Home {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    if ((u32[words + W.flags]! & idle) !== 0) return Home.none;
    const maxConns = u32[words + W.maxConns]!;
    if (maxConns !== 0 && u32[words + W.active]! >= maxConns) return Home.none;
    const maxFails = u32[words + W.maxFails]!;
    if (
      maxFails !== 0 &&
      u32[words + W.fails]! >= maxFails &&
      isWithin(u32[words + W.failTimeout]!, f64[numberOf(record) + F.checked]!, now)
    )
      return Home.resting;
    if (this.order !== Order.turns) return Home.heap;
    return u32[words + W.effective]! < u32[words + W.weight]! ? Home.suspect : Home.weightClass;
  }

  #enter(record: number, home: Home): void {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    u32[words + W.home] = home;
    if (home === Home.weightClass) {
      const weight = this.#classWeight(record);
      f64[numberOf(record) + F.key]! -= weight * f64[this.#numbers + RotationF.rounds]!;
      f64[this.#numbers + RotationF.total]! += weight;
      this.classes.place(record);
    } else if (home === Home.heap) {
      // It does not make up for the time of its absence.
      f64[numberOf(record) + F.key] = Math.max(f64[numberOf(record) + F.key]!, f64[this.#numbers + RotationF.rounds]!);
      this.#heap.add(record);
    } else if (home === Home.suspect) this.#push(record, this.#words + RotationW.suspects);
    else if (home === Home.resting) this.#push(record, this.#words + RotationW.resting);
  }

  #push(record: number, head: number): void {
    insertBetween(this.zone, record, 0, this.zone.u32[head]!, head, 0);
  }

  /** The weight its class goes by, which is not yet the member's own while that is being changed. */
  #classWeight(record: number): number {
    const { u32 } = this.zone;
    return u32[wordOf(u32[wordOf(record) + W.weightClass]!) + WeightClass.weight]!;
  }

  /** True if `record` goes before `other` when their current weights are equal. */
  #isBefore(record: number, other: number): boolean {
    return this.zone.u32[wordOf(record) + W.order]! < this.zone.u32[wordOf(other) + W.order]!;
  }

  #owns({ offset, removed }: Tried): boolean {
    return !removed && ((this.zone.u32[wordOf(offset) + W.flags]! & Flag.BACKUP) !== 0) === this.backup;
  }

  #mark(record: number, mark: number, now: number): void {
    const flags = wordOf(record) + W.flags;
    this.zone.u32[flags] = (this.zone.u32[flags]! & ~Flag.TRIED) | mark;
    this.settle(record, now);
  }

  #rebase(rounds: number): void {
    this.classes.advance(rounds);
    this.zone.f64[this.#numbers + RotationF.rounds] = 0;
  }
}
