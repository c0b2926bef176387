import type { Worker } from 'node:worker_threads';
import type { HashJob, HashResult } from './hash-thread.js';

/** Jobs that may wait: at 100 ms each, as long as a client will wait for them. */
const MOST_JOBS = 500;
/** The same file from here and from where the bundle has put this code. */
const THREAD = '../../modules/auth_basic/hash-thread.js';
/** The thread needs little memory. */
const LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };

interface Waiting {
  readonly resolve: (isRight: boolean) => void;
  readonly reject: (error: Error) => void;
}

/** Checks passwords on a thread of its own, which starts with the first one. */
export class Hasher {
  #thread: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** As many jobs wait as may. */
  get isFull(): boolean {
    return this.#waiting.size >= MOST_JOBS;
  }

  /** @param password bytes as a latin1 string @returns whether it is the one that `stored` is the hash of */
  check(password: string, stored: string): Promise<boolean> {
    const job: HashJob = { id: ++this.#lastId, password, stored };
    return new Promise((resolve, reject) => {
      this.#waiting.set(job.id, { resolve, reject });
      this.#thread ??= this.#start();
      this.#thread.postMessage(job);
    });
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
    const thread = new Thread(new URL(THREAD, import.meta.url), { name: 'passwords', resourceLimits: LIMITS });
    thread.unref();
    let failure = new Error('the thread that checks passwords has ended');
    thread.on('message', ({ id, isRight }: HashResult) => {
      this.#waiting.get(id)?.resolve(isRight);
      this.#waiting.delete(id);
    });
    thread.on('error', (error: Error) => (failure = error));
    thread.once('exit', () => {
      this.#thread = undefined;
      for (const { reject } of this.#waiting.values()) reject(failure);
      this.#waiting.clear();
    });
    return thread;
  }
}
