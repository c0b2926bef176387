import { constants } from 'node:os';

/** Signals of a process that has failed in code of C: a wrong pointer, an assertion, memory that ended. */
const CRASHES: ReadonlySet<NodeJS.Signals> = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS']);
/** A server that has lived no longer crashes at its start, or with each request: the next one waits for a while. Milliseconds. */
const SHORT_LIFE = 10_000;
const PAUSE = 1000;
/** Longest wait between two attempts to start the next one, in milliseconds. */
const LONGEST_PAUSE = 30_000;

/** Decides whether a server that has ended is started again. */
export class Crashes {
  #startedAt = performance.now();
  #hasServed = false;
  /** The server takes the place of one that has crashed, and does not serve yet. */
  #isRestarting = false;
  /** Attempts in a row that have failed. */
  #failed = 0;

  /** The server has begun to serve: it did not fail to start. */
  served(): void {
    this.#hasServed = true;
    this.#isRestarting = false;
    this.#failed = 0;
  }

  started(): void {
    this.#startedAt = performance.now();
    this.#isRestarting = true;
  }

  /** The server was to take the place of one that has crashed, and has not served. */
  get isRestarting(): boolean {
    return this.#isRestarting;
  }

  /** @returns milliseconds after which it is started again; undefined: it is not */
  pauseAfter(signal: NodeJS.Signals | null): number | undefined {
    // Its sockets have queues, with clients that wait for a configuration without errors.
    if (this.#isRestarting) return Math.min(PAUSE * 2 ** this.#failed++, LONGEST_PAUSE);
    if (signal === null || !CRASHES.has(signal) || !this.#hasServed) return undefined;
    return performance.now() - this.#startedAt < SHORT_LIFE ? PAUSE : 0;
  }

  /** For the log. @param pause of {@link pauseAfter} @returns undefined: it has ended by itself */
  describe({ pid, code, signal }: ServerEnd, pause: number | undefined): string | undefined {
    if (this.#isRestarting) {
      const how = signal === null ? `code ${code}` : signal;
      const seconds = Math.round((pause ?? 0) / 1000);
      return `server process ${pid} could not start, it exited with ${how}: the next attempt is in ${seconds} s, or at once after SIGHUP; "srv -t" shows errors of the configuration`;
    }
    if (signal === null) return undefined;
    const name = pause === undefined ? `signal ${constants.signals[signal]}` : signal;
    return `server process ${pid} exited on ${name}${pause === undefined ? ', and its parent ends: start srv again' : ''}`;
  }
}

/** How the process of a server has ended. */
export interface ServerEnd {
  readonly pid: number | undefined;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}
