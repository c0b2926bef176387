import { threadId } from 'node:worker_threads';

const FREE = 0;
/** Set while a thread sleeps on the word: the release has to wake one. */
const WAITERS = 1 << 31;
/** Free, but the thread that held it last died: what it guards may be half changed. */
const BROKEN = 1 << 30;
const HOLDER = BROKEN - 1;
const SPINS = 100;
/** Milliseconds one sleep lasts at most before the word is looked at again. */
const SLICE = 100;

/**
 * A lock in one word of shared memory, the way robust futexes work. The word names the thread that holds it, so that the master can
 * free the locks of a thread that died. Sections under it are short (microseconds), allocate nothing outside and never wait.
 */
export class Lock {
  /** The main thread is 0, which must differ from {@link FREE}. */
  readonly #me = threadId + 1;

  /**
   * @param words a view of shared memory
   * @param index the word of the lock in it, 0 at the beginning
   * @param limit milliseconds after which a holder that shows no sign of life counts as dead: sections last microseconds, so it is
   */
  constructor(
    private readonly words: Int32Array,
    private readonly index: number,
    private readonly limit = 5000,
  ) {}

  /** Takes the lock. True: its last holder died in the section; the caller has to put right what the lock guards. */
  acquire(): boolean {
    if (Atomics.compareExchange(this.words, this.index, FREE, this.#me) === FREE) return false;
    return this.#contend();
  }

  release(): void {
    const { words, index } = this;
    const me = this.#me;
    if (Atomics.compareExchange(words, index, me, FREE) === me) return;
    // Anything else is not ours any more: it was taken from us as from a dead thread.
    if (Atomics.compareExchange(words, index, me | WAITERS, FREE) === (me | WAITERS)) Atomics.notify(words, index, 1);
  }

  /** Frees the lock if thread `dead` died with it. Called by the master when a thread has ended. */
  releaseOf(dead: number): boolean {
    const { words, index } = this;
    for (;;) {
      const seen = Atomics.load(words, index);
      if ((seen & HOLDER) !== dead + 1) return false;
      if (Atomics.compareExchange(words, index, seen, BROKEN) === seen) break;
    }
    Atomics.notify(words, index);
    return true;
  }

  #contend(): boolean {
    const { words, index } = this;
    const me = this.#me;
    for (let spin = 0; spin < SPINS; spin++) {
      const seen = Atomics.load(words, index);
      if ((seen & (HOLDER | WAITERS)) === 0 && Atomics.compareExchange(words, index, seen, me) === seen) return seen === BROKEN;
    }
    return this.#sleep();
  }

  #sleep(): boolean {
    const { words, index } = this;
    // Others may sleep too and are not counted: a thread that slept passes the mark on, so that its release wakes the next one.
    const mine = this.#me | WAITERS;
    let patience = this.limit;
    let suspect = 0;
    for (;;) {
      const seen = Atomics.load(words, index);
      const holder = seen & HOLDER;
      if (holder === 0 || patience <= 0) {
        if (Atomics.compareExchange(words, index, seen, mine) === seen) return holder !== 0 || (seen & BROKEN) !== 0;
        continue;
      }
      if ((seen & WAITERS) === 0 && Atomics.compareExchange(words, index, seen, seen | WAITERS) !== seen) continue;
      if (holder !== suspect) {
        suspect = holder;
        patience = this.limit;
      }
      if (Atomics.wait(words, index, seen | WAITERS, SLICE) === 'timed-out') patience -= SLICE;
      else patience = this.limit;
    }
  }
}
