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
 * Coarse timers of one thread: a hashed wheel with one system timer, which runs only while something is armed. Resolution 100 ms, never
 * early. What has arrived is worked on first (as in nginx): after a stall nobody is late who only was not read.
 */
export class TimerWheel {
  readonly #slots: Set<Timed>[] = Array.from({ length: SLOTS }, () => new Set<Timed>());
  #timer: NodeJS.Timeout | undefined;
  #tick: number;
  #armed = 0;

  constructor(private readonly clock: Clock) {
    this.#tick = Math.floor(clock.now / TICK);
  }

  /** Arms or moves the deadline of `entry` to `after` milliseconds from now. */
  arm(entry: Timed, after: number): void {
    const deadline = this.clock.now + after;
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
    for (const slot of this.#slots) {
      for (const entry of slot) entry.slot = -1;
      slot.clear();
    }
    this.#armed = 0;
  }

  #enter(entry: Timed): void {
    if (this.#armed++ === 0) this.#run();
    const tick = Math.max(Math.ceil(entry.deadline / TICK), this.#tick + 1);
    // Deadlines beyond one round wait in the slot that comes last and are looked at again there.
    const slot = (tick - this.#tick >= SLOTS ? this.#tick + SLOTS - 1 : tick) % SLOTS;
    entry.slot = slot;
    this.#slots[slot]?.add(entry);
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

  #run(): void {
    this.#tick = Math.floor(this.clock.now / TICK);
    this.#timer ??= setInterval(() => setImmediate(() => this.#advance()), TICK).unref();
  }

  #advance(): void {
    const current = Math.floor(this.clock.refresh() / TICK);
    // A long stall needs one round at most: every slot is visited once.
    const from = Math.max(this.#tick + 1, current - SLOTS + 1);
    this.#tick = current;
    for (let tick = from; tick <= current; tick++) this.#visit(tick % SLOTS);
    if (this.#armed === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #visit(index: number): void {
    const slot = this.#slots[index];
    if (!slot || slot.size === 0) return;
    const due: Timed[] = [];
    for (const entry of slot) {
      entry.slot = -1;
      this.#armed--;
      if (entry.deadline !== 0) due.push(entry);
    }
    slot.clear();
    const now = this.clock.now;
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
