import type { Task, Tasks } from '../../core/contract/tasks.js';

/** Something that is due at some time. One that is in no schedule has the place -1. */
export interface Scheduled {
  /** By the clock of the schedule, in milliseconds. Owned by the schedule. */
  due: number;
  place: number;
  onDue(): void;
}

/** Deadlines within this time after a timer are handled with it: thousands of checks need no timer each. Milliseconds. */
const GRAIN = 10;

/** Tens of thousands of deadlines with one timer: a heap. Uses a monotonic clock, so a step of the time of day moves no check. */
export class Schedule {
  readonly #heap: Scheduled[] = [];
  #timer: Task | undefined;
  #planned = Infinity;
  #isStarted = false;

  constructor(private readonly tasks: Pick<Tasks, 'after'>) {}

  /** Milliseconds. */
  get now(): number {
    return performance.now();
  }

  /** Timers may be set from now on. */
  start(): void {
    this.#isStarted = true;
    this.#plan();
  }

  /** Nothing is due any more. */
  stop(): void {
    this.#isStarted = false;
    this.#timer?.cancel();
    for (const entry of this.#heap) entry.place = -1;
    this.#heap.length = 0;
  }

  /** Adds or moves an entry. @param after milliseconds from now */
  set(entry: Scheduled, after: number): void {
    entry.due = this.now + after;
    if (entry.place < 0) entry.place = this.#heap.push(entry) - 1;
    this.#sink(this.#rise(entry));
    this.#plan();
  }

  remove(entry: Scheduled): void {
    const { place } = entry;
    if (place < 0) return;
    entry.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === entry) return;
    this.#put(last, place);
    this.#sink(this.#rise(last));
  }

  #plan(): void {
    const [first] = this.#heap;
    if (!this.#isStarted || first === undefined || first.due >= this.#planned) return;
    this.#timer?.cancel();
    this.#planned = first.due;
    this.#timer = this.tasks.after(Math.max(GRAIN, first.due - this.now), () => this.#run());
  }

  #run(): void {
    this.#planned = Infinity;
    const { now } = this;
    for (let [first] = this.#heap; first !== undefined && first.due <= now; [first] = this.#heap) {
      this.remove(first);
      first.onDue();
    }
    this.#plan();
  }

  #rise(entry: Scheduled): Scheduled {
    for (let { place } = entry; place > 0; place = entry.place) {
      const above = this.#heap[(place - 1) >>> 1]!;
      if (above.due <= entry.due) break;
      this.#put(entry, above.place);
      this.#put(above, place);
    }
    return entry;
  }

  #sink(entry: Scheduled): void {
    for (;;) {
      const left = this.#heap[entry.place * 2 + 1];
      const right = this.#heap[entry.place * 2 + 2];
      const least = left !== undefined && right !== undefined && right.due < left.due ? right : left;
      if (least === undefined || least.due >= entry.due) return;
      const { place } = least;
      this.#put(least, entry.place);
      this.#put(entry, place);
    }
  }

  #put(entry: Scheduled, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }
}
