import { readlinkSync } from 'node:fs';

/** Words of the shared memory. */
const THREAD = 0;
const STEPS = 1;
const PREPARED_TX = 2;
const NAME_LENGTH = 3;
const WORDS = 4;
const NAME_BYTES = 128;

/** State of a worker for the master while it is too busy for messages, or after it has died: memory that both share. */
export class LifeSigns {
  readonly #words: Int32Array;
  /** Name of the module whose code runs. */
  readonly #name: Buffer;

  constructor(readonly memory = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT + NAME_BYTES)) {
    this.#words = new Int32Array(memory, 0, WORDS);
    this.#name = Buffer.from(memory, WORDS * Int32Array.BYTES_PER_ELEMENT, NAME_BYTES);
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

  /** Called in the worker with the name of a module before code of it runs, and with undefined when it has returned: then the worker works. */
  readonly call = (module: string | undefined): void => {
    if (module === undefined) Atomics.add(this.#words, STEPS, 1);
    Atomics.store(this.#words, NAME_LENGTH, module === undefined ? 0 : this.#name.write(module, 'latin1'));
  };

  /** The module whose code runs at this moment. Undefined: none, or code that is called for a request. */
  get module(): string | undefined {
    const length = Atomics.load(this.#words, NAME_LENGTH);
    return length === 0 ? undefined : this.#name.toString('latin1', 0, length);
  }

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
