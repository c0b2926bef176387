import { readlinkSync } from 'node:fs';

/** Words of the shared memory. */
const THREAD = 0;
const STEPS = 1;
const PREPARED_TX = 2;
const WORDS = 3;

/** State of a worker for the master while it is too busy for messages, or after it has died: memory that both share. */
export class LifeSigns {
  readonly #words: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT)) {
    this.#words = new Int32Array(memory);
  }

  /** Called in the worker when it starts: how the system calls its thread. */
  begin(): void {
    try {
      const [, thread] = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
      Atomics.store(this.#words, THREAD, Number(thread ?? 0));
    } catch {
      // Not Linux, or without /proc: the master goes by the clock alone.
    }
  }

  /** The system's id of the thread; 0: not known. */
  get thread(): number {
    return Atomics.load(this.#words, THREAD);
  }

  /** Called in the worker when code of a module has returned: it works, however long all of it takes. */
  readonly step = (): void => {
    Atomics.add(this.#words, STEPS, 1);
  };

  /** Another number than before: the worker has made progress. */
  get steps(): number {
    return Atomics.load(this.#words, STEPS);
  }

  /** The transaction that the worker prepares at this moment; 0: none. */
  get prepares(): number {
    return Atomics.load(this.#words, PREPARED_TX);
  }

  set prepares(tx: number) {
    Atomics.store(this.#words, PREPARED_TX, tx);
  }
}
