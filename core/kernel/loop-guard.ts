import { isMainThread, Worker } from 'node:worker_threads';
import { CALL_MS } from './call-limit.js';

// Relative to a chunk of the bundle as well.
const THREAD_FILE = new URL('../kernel/loop-guard-thread.js', import.meta.url);
/** How often the main thread shows that it turns its event loop, in milliseconds. */
const BEAT_MS = 200;

export interface LoopGuardStart {
  /** One word that changes with each beat of the main thread. */
  readonly beats: Int32Array;
  /** Milliseconds without a beat after which the main thread loops. */
  readonly ms: number;
}

/**
 * Ends what a module does that keeps the main thread from its event loop for too long: a promise that waits for the code that was ended
 * never settles, so that the work needs a time limit as well. In other threads it does nothing. One for all that happens in a thread: two
 * could each end something for the same loop.
 */
export class LoopGuard {
  #thread: Worker | undefined;
  #beating: NodeJS.Timeout | undefined;
  #working = 0;

  /** @param ms how long the main thread may be kept busy (ms) */
  constructor(private readonly ms = CALL_MS) {}

  /** Watches the main thread until `work` settles. */
  async during<T>(work: Promise<T>): Promise<T> {
    if (!isMainThread) return work;
    this.#begin();
    try {
      return await work;
    } finally {
      this.#working--;
      if (this.#working === 0) await this.#end();
    }
  }

  #begin(): void {
    this.#working++;
    if (this.#thread !== undefined) return;
    const beats = new Int32Array(new SharedArrayBuffer(4));
    const start: LoopGuardStart = { beats, ms: this.ms };
    this.#thread = new Worker(THREAD_FILE, { workerData: start });
    const beat = (): void => {
      Atomics.add(beats, 0, 1);
      Atomics.notify(beats, 0);
    };
    this.#beating = setInterval(beat, BEAT_MS);
  }

  async #end(): Promise<void> {
    clearInterval(this.#beating);
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}
