import { Schedule, type Scheduled } from './schedule.js';
import type { Sockets } from '../../core/contract/sockets.js';
import type { Tasks } from '../../core/contract/tasks.js';

/** Checks under way at the same time. Those of members that hang are over with their time limit, the others wait for that long at most. */
const MOST_RUNNING = 1000;

/** Something that takes a place while it runs. */
export interface Run {
  run(): void;
}

/** Shared parts of all checks of this node: the schedule, and places for running checks. */
export class CheckRunner {
  readonly schedule: Schedule;
  #running = 0;
  /** In the order they were due. */
  readonly #waiting = new Set<Run>();

  constructor(
    tasks: Pick<Tasks, 'after'>,
    readonly sockets: Sockets,
  ) {
    this.schedule = new Schedule(tasks);
  }

  /** Runs it now, or when there is a place. */
  begin(check: Run): void {
    if (this.#running >= MOST_RUNNING) {
      this.#waiting.add(check);
      return;
    }
    this.#running++;
    check.run();
  }

  /** One that ran is over. */
  end(): void {
    this.#running--;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.begin(next);
  }

  /** It is not to run any more. */
  forget(check: Run & Scheduled): void {
    this.#waiting.delete(check);
    this.schedule.remove(check);
  }
}
