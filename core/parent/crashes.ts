/** Signals of a process that has failed in code of C: a wrong pointer, an assertion, memory that ended. */
const CRASHES: ReadonlySet<NodeJS.Signals> = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS']);
/** A server that has lived no longer crashes at its start, or with each request: the next one waits for a while. Milliseconds. */
const SHORT_LIFE = 10_000;
const PAUSE = 1000;

/** Decides whether a server that has ended is started again. */
export class Crashes {
  #startedAt = performance.now();
  #hasServed = false;

  /** The server has begun to serve: it did not fail to start. */
  served(): void {
    this.#hasServed = true;
  }

  started(): void {
    this.#startedAt = performance.now();
  }

  /** @returns milliseconds after which it is started again; undefined: it is not */
  pauseAfter(signal: NodeJS.Signals | null): number | undefined {
    if (signal === null || !CRASHES.has(signal) || !this.#hasServed) return undefined;
    return performance.now() - this.#startedAt < SHORT_LIFE ? PAUSE : 0;
  }
}
