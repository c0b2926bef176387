import { isMainThread, Worker } from 'node:worker_threads';

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
 * While `work` of a module is under way, ends what keeps the main thread from its event loop for `ms` milliseconds, once: a promise that
 * waits for the code that was ended never settles, so that `work` needs a time limit as well. In other threads it does nothing.
 */
export async function guardLoops<T>(ms: number, work: Promise<T>): Promise<T> {
  if (!isMainThread) return work;
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const start: LoopGuardStart = { beats, ms };
  const thread = new Worker(THREAD_FILE, { workerData: start });
  const timer = setInterval(() => {
    Atomics.add(beats, 0, 1);
    Atomics.notify(beats, 0);
  }, BEAT_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    await thread.terminate();
  }
}
