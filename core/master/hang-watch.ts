import { readFileSync } from 'node:fs';

/** Milliseconds that a thread or process may have had for a response before it is considered to hang. */
const HANG_MS = 10_000;
const STEP_MS = 1000;
/** How often each thread and process is asked. */
export const WATCH_MS = 5000;

/** A thread or a process. */
export interface Watched {
  /** Sends a ping; call {@link HangWatch.responded} when the response arrives. */
  ask(): void;
  onHang(reason: string): void;
  /** Its folder in /proc; undefined: not known yet. */
  folder(): string | undefined;
  /** Another number than before is a sign of life. Absent: only responses are. */
  readonly progress?: (() => number) | undefined;
}

/**
 * Detects a thread or a process that hangs: it is asked for a sign of life, which everything that is not in an endless loop, and waits for
 * nothing in the middle of its work, gives at once. Time in which it was ready to run and the system gave it no processor does not count:
 * on a machine with a load of 20 a healthy process may need half a minute for what takes one second.
 */
export class HangWatch {
  #question: NodeJS.Timeout | undefined;

  constructor(private readonly watched: Watched) {}

  /** Sends a ping, unless a response is due already. */
  ask(): void {
    if (this.#question !== undefined) return;
    const { watched } = this;
    const asked = performance.now();
    let had = 0;
    let last = this.#seen();
    this.#question = setInterval(() => {
      const seen = this.#seen();
      had = seen.progress === last.progress ? had + timeBetween(last, seen) : 0;
      last = seen;
      if (had < HANG_MS) return;
      this.responded();
      watched.onHang(reasonFor(had, seen.at - asked));
    }, STEP_MS);
    watched.ask();
  }

  /** It lives, or is gone. */
  responded(): void {
    clearInterval(this.#question);
    this.#question = undefined;
  }

  #seen(): Seen {
    return { at: performance.now(), waited: waitedForProcessor(this.watched.folder()), progress: this.watched.progress?.() ?? 0 };
  }
}

interface Seen {
  readonly at: number;
  /** Milliseconds in which it was ready to run, and did not. */
  readonly waited: number;
  readonly progress: number;
}

/** Milliseconds that it could have used. One step at most: if the whole machine stood still, nothing hangs. */
function timeBetween(before: Seen, now: Seen): number {
  // A timer fires some microseconds early or late; a step without waiting is a whole one.
  const elapsed = now.at - before.at > STEP_MS / 2 ? STEP_MS : 0;
  return Math.max(0, elapsed - Math.floor(now.waited - before.waited));
}

function reasonFor(had: number, elapsed: number): string {
  const whole = `it hangs: no response for ${Math.round(elapsed / 1000)} s`;
  return elapsed > had * 1.5 ? `${whole}, in which it had the processor or waited for ${Math.round(had / 1000)} s` : whole;
}

/** The second figure of `schedstat`: nanoseconds on the run queue. 0 where the system does not say. */
function waitedForProcessor(folder: string | undefined): number {
  if (folder === undefined) return 0;
  try {
    return Number(readFileSync(`${folder}/schedstat`, 'latin1').split(' ')[1] ?? 0) / 1e6;
  } catch {
    return 0;
  }
}
