import type { Clock } from './clock.js';

/** Something with a deadline. Moving the deadline later is a plain store: the wheel looks again when the old one comes. */
export interface Timed {
  /** Epoch milliseconds; 0: not armed. */
  deadline: number;
  /** The wheel's slot it waits in, -1: none. Owned by the wheel. */
  slot: number;
  onDeadline(): void;
}

const TICK = 100;
const SLOTS = 1024;

/**
 * Coarse timers of one thread: a hashed wheel with one system timer, which sleeps until the next slot that holds something: a thread whose
 * connections are all idle does nothing. Resolution 100 ms, never early. Arrived data is processed first (as in nginx): after a stall, a
 * client whose data was only not read yet is not late.
 */
export class TimerWheel {
  readonly #slots: Set<Timed>[] = Array.from({ length: SLOTS }, () => new Set<Timed>());
  #timer: NodeJS.Timeout | undefined;
  /** Every slot up to this tick has been visited, or was empty. */
  #tick: number;
  /** The tick at which the system timer fires. */
  #planned = Infinity;
  #armed = 0;

  constructor(private readonly clock: Clock) {
    this.#tick = Math.floor(clock.now / TICK);
  }

  /** Arms or moves the deadline of `entry` to `after` milliseconds from now. */
  arm(entry: Timed, after: number): void {
    // While everything slept the clock stood still.
    const deadline = this.clock.refresh() + after;
    // Later than the next look at its slot: that look finds out. Earlier: it has to move.
    if (entry.slot >= 0 && Math.ceil(deadline / TICK) < this.#visitOf(entry.slot)) this.#leave(entry);
    entry.deadline = deadline;
    if (entry.slot < 0) this.#enter(entry);
  }

  /** Disarms; its place in the wheel is given up when its slot comes round, or at once with `forget`. */
  disarm(entry: Timed): void {
    entry.deadline = 0;
  }

  /** Disarms and drops the wheel's reference. */
  forget(entry: Timed): void {
    entry.deadline = 0;
    if (entry.slot >= 0) this.#leave(entry);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#planned = Infinity;
    for (const slot of this.#slots) {
      for (const entry of slot) entry.slot = -1;
      slot.clear();
    }
    this.#armed = 0;
  }

  #enter(entry: Timed): void {
    this.#armed++;
    // Slots before the planned tick are empty.
    this.#tick = Math.max(this.#tick, Math.min(Math.floor(this.clock.now / TICK), this.#planned - 1));
    // Deadlines beyond one round wait in the slot that comes last and are looked at again there.
    const tick = Math.min(Math.max(Math.ceil(entry.deadline / TICK), this.#tick + 1), this.#tick + SLOTS - 1);
    const slot = tick % SLOTS;
    entry.slot = slot;
    this.#slots[slot]?.add(entry);
    if (tick < this.#planned) this.#plan(tick);
  }

  #leave(entry: Timed): void {
    this.#slots[entry.slot]?.delete(entry);
    entry.slot = -1;
    this.#armed--;
  }

  /** The tick at which a slot comes round. */
  #visitOf(slot: number): number {
    const next = this.#tick + 1;
    return next + ((slot - (next % SLOTS) + SLOTS) % SLOTS);
  }

  #plan(tick: number): void {
    this.#planned = tick;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#turn(), Math.max(tick * TICK - this.clock.now, 1)).unref();
  }

  /** The first tick after the present one whose slot holds something; there is one. */
  #next(): number {
    let tick = this.#tick + 1;
    while (this.#slots[tick % SLOTS]?.size === 0) tick++;
    return tick;
  }

  /** Arrived data is processed between the two: the time is that of before, because a stall in between is not the fault of a client either. */
  #turn(): void {
    const now = this.clock.refresh();
    setImmediate(() => this.#advance(now));
  }

  #advance(now: number): void {
    const current = Math.floor(now / TICK);
    // A long stall needs one round at most: every slot is visited once.
    const from = Math.max(this.#tick + 1, current - SLOTS + 1);
    // Timers set meanwhile are planned below.
    this.#planned = -Infinity;
    this.#tick = Math.max(this.#tick, current);
    for (let tick = from; tick <= current; tick++) this.#visit(tick % SLOTS, now);
    this.#planned = Infinity;
    if (this.#armed > 0) this.#plan(this.#next());
  }

  #visit(index: number, now: number): void {
    const slot = this.#slots[index];
    if (!slot || slot.size === 0) return;
    const due: Timed[] = [];
    for (const entry of slot) {
      entry.slot = -1;
      this.#armed--;
      if (entry.deadline !== 0) due.push(entry);
    }
    slot.clear();
    for (const entry of due) {
      if (entry.deadline === 0 || entry.slot >= 0) continue;
      if (entry.deadline > now) this.#enter(entry);
      else {
        entry.deadline = 0;
        entry.onDeadline();
      }
    }
  }
}
