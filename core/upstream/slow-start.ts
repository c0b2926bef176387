import { numberOf, wordOf } from '../zone/offsets.js';
import type { Zone } from '../zone/zone.js';
import { F, RotationF, RotationW, SlowF, SlowW, UNIT, W } from './layout.js';

/** Parts of one turn: what a member saves up until it may take it. */
const TURN = 2 ** 16;

/**
 * The slow start of the members of a rotation (`slow_start=`): their weight grows from nothing to its full value in equal measure with
 * time. Its state is in separate memory, because few members have one. Called with the zone's lock held.
 *
 * In turns a member has the turns of its full weight, and lets pass as many as exceed the share of its present weight. By load its present
 * weight is stored, and each choice updates that of one member. So a choice costs the same for any number of starting members.
 */
export class SlowStart {
  /** @param head word index of the rotation */
  constructor(
    private readonly zone: Zone,
    private readonly head: number,
  ) {}

  /** Makes room for what a member needs. False: the zone is full. */
  static reserve(zone: Zone, record: number, slowStart: number): boolean {
    if (slowStart === 0 || zone.u32[wordOf(record) + W.slow] !== 0) return true;
    const slow = zone.slab.calloc(SlowW.COUNT * 4);
    zone.u32[wordOf(record) + W.slow] = slow;
    if (slow !== 0) zone.u32[wordOf(slow) + SlowW.weight] = zone.u32[wordOf(record) + W.weight]!;
    return slow !== 0;
  }

  /** Other parameters; the member is not starting. */
  static configure(zone: Zone, record: number, slowStart: number): void {
    const { u32 } = zone;
    const slow = u32[wordOf(record) + W.slow]!;
    if (slow === 0) return;
    u32[wordOf(slow) + SlowW.duration] = Math.min(slowStart, 2 ** 32 - 1);
    u32[wordOf(slow) + SlowW.weight] = u32[wordOf(record) + W.weight]!;
  }

  /** Part of its weight that a member has, 0 to 1. @param now epoch milliseconds */
  static shareOf(zone: Zone, record: number, now: number): number {
    const slow = zone.u32[wordOf(record) + W.slow]!;
    if (slow === 0) return 1;
    const started = zone.f64[numberOf(slow) + SlowF.started]!;
    if (started === 0) return 1;
    const share = (now - started) / zone.u32[wordOf(slow) + SlowW.duration]!;
    // A clock that was set back must not keep a member from its work.
    return share >= 0 && share < 1 ? share : 1;
  }

  /** Present weight of a member as far as it is stored, in units: with it members are compared by load. */
  static storedWeight(u32: Uint32Array, words: number): number {
    const slow = u32[words + W.slow]!;
    return slow === 0 ? u32[words + W.weight]! : u32[wordOf(slow) + SlowW.weight]!;
  }

  /** The weight of a member grows from nothing from now on. @param started epoch milliseconds */
  begin(record: number, started: number): void {
    const { u32, f64 } = this.zone;
    this.end(record);
    const slow = u32[wordOf(record) + W.slow]!;
    if (slow === 0 || u32[wordOf(slow) + SlowW.duration] === 0) return;
    f64[numberOf(slow) + SlowF.started] = started;
    u32[wordOf(slow) + SlowW.saved] = 0;
    u32[wordOf(slow) + SlowW.weight] = 1;
    this.#link(record, slow);
  }

  /** It has its full weight. @returns when its slow start had begun; 0: it had none */
  end(record: number): number {
    const { u32, f64 } = this.zone;
    const slow = u32[wordOf(record) + W.slow]!;
    if (slow === 0) return 0;
    const started = f64[numberOf(slow) + SlowF.started]!;
    if (started === 0) return 0;
    const words = wordOf(slow);
    const next = u32[words + SlowW.next]!;
    const before = u32[words + SlowW.before]!;
    if (u32[this.head + RotationW.starting] === record) u32[this.head + RotationW.starting] = next === record ? 0 : next;
    u32[wordOf(u32[wordOf(next) + W.slow]!) + SlowW.before] = before;
    u32[wordOf(u32[wordOf(before) + W.slow]!) + SlowW.next] = next;
    f64[numberOf(slow) + SlowF.started] = 0;
    u32[words + SlowW.weight] = u32[wordOf(record) + W.weight]!;
    return started;
  }

  /** True if a member lets this turn pass. */
  passes(record: number, now: number): boolean {
    const share = SlowStart.shareOf(this.zone, record, now);
    if (share === 1) {
      this.end(record);
      return false;
    }
    const { u32 } = this.zone;
    const saved = wordOf(u32[wordOf(record) + W.slow]!) + SlowW.saved;
    u32[saved]! += Math.max(Math.floor(share * TURN), TURN / UNIT);
    if (u32[saved]! < TURN) return true;
    u32[saved]! -= TURN;
    return false;
  }

  /** True if any member is starting. */
  get active(): boolean {
    return this.zone.u32[this.head + RotationW.starting] !== 0;
  }

  /** Brings the stored weight of the next member up to date, which is returned: its place in a heap may be another one now. */
  refresh(now: number): number {
    const { u32 } = this.zone;
    const record = u32[this.head + RotationW.starting]!;
    const slow = wordOf(u32[wordOf(record) + W.slow]!);
    const before = u32[slow + SlowW.weight]!;
    const weight = u32[wordOf(record) + W.weight]!;
    const share = SlowStart.shareOf(this.zone, record, now);
    u32[this.head + RotationW.starting] = u32[slow + SlowW.next]!;
    u32[slow + SlowW.weight] = Math.max(Math.floor(weight * share), 1);
    this.#shorten(record, before / u32[slow + SlowW.weight]!);
    if (share === 1) this.end(record);
    return record;
  }

  /** All lists are forgotten. */
  clear(): void {
    this.zone.u32[this.head + RotationW.starting] = 0;
  }

  /** Puts a member back that was starting. */
  restore(record: number): void {
    const { u32, f64 } = this.zone;
    const slow = u32[wordOf(record) + W.slow]!;
    if (slow !== 0 && f64[numberOf(slow) + SlowF.started] !== 0) this.#link(record, slow);
  }

  /** With more weight it has to wait less for its next turn. */
  #shorten(record: number, factor: number): void {
    const { f64 } = this.zone;
    const reached = f64[(this.head >>> 1) + RotationF.rounds]!;
    const key = f64[numberOf(record) + F.key]!;
    if (key > reached) f64[numberOf(record) + F.key] = reached + (key - reached) * factor;
  }

  /** Into the ring, before the one whose turn it is. */
  #link(record: number, slow: number): void {
    const { u32 } = this.zone;
    const words = wordOf(slow);
    const next = u32[this.head + RotationW.starting] || record;
    u32[this.head + RotationW.starting] = next;
    const after = wordOf(u32[wordOf(next) + W.slow]!);
    const before = next === record ? record : u32[after + SlowW.before]!;
    u32[words + SlowW.next] = next;
    u32[words + SlowW.before] = before;
    u32[wordOf(u32[wordOf(before) + W.slow]!) + SlowW.next] = record;
    u32[after + SlowW.before] = record;
  }
}
