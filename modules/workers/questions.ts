import type { Channels, Channel } from '../../core/contract/channels.js';

/** A question of the main thread. */
interface Question<Q> {
  readonly id: number;
  /** Number of the worker; undefined: all. */
  readonly worker: number | undefined;
  /** Epoch milliseconds after which nothing waits for a reply: a worker that starts later finds the question too. */
  readonly until: number;
  readonly what: Q;
}

interface Reply<R> {
  readonly id: number;
  readonly result?: R;
  readonly error?: string;
}

interface Waiting<R> {
  readonly replies: Map<number, R>;
  readonly wanted: ReadonlySet<number>;
  readonly done: (error?: Error) => void;
}

/** Questions of the main thread to workers. */
export class WorkerQuestions<Q, R> {
  readonly #channel: Channel<Question<Q>, never, Reply<R>>;
  readonly #waiting = new Map<number, Waiting<R>>();
  #last = 0;

  /** @param reply called in a worker */
  constructor(
    channels: Channels,
    private readonly number: number,
    private readonly reply: (what: Q) => Promise<R> | R,
  ) {
    this.#channel = channels.open('questions', {
      changed: (question) => void this.#asked(question),
      told: (message, worker) => this.#replied(message, worker),
    });
  }

  /**
   * Asks workers.
   * @param workers all of them, or one
   * @param ms longest time to wait
   * @returns replies by the number of the worker, as far as they have come in time
   * @throws Error when a worker has failed to reply
   */
  async ask(what: Q, workers: readonly number[], ms: number): Promise<ReadonlyMap<number, R>> {
    const id = ++this.#last;
    const replies = new Map<number, R>();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const done = (error?: Error): void => (error === undefined ? resolve() : reject(error));
    this.#waiting.set(id, { replies, wanted: new Set(workers), done });
    const timer = setTimeout(done, ms);
    try {
      const worker = workers.length === 1 ? workers[0] : undefined;
      // It resolves when all workers have it. One may hang.
      this.#channel.publish({ id, worker, until: Date.now() + ms, what }).catch(done);
      if (workers.length > 0) await promise;
      return replies;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  async #asked({ id, worker, until, what }: Question<Q>): Promise<void> {
    if ((worker !== undefined && worker !== this.number) || Date.now() > until) return;
    try {
      this.#channel.tell({ id, result: await this.reply(what) });
    } catch (error) {
      this.#channel.tell({ id, error: (error as Error).message });
    }
  }

  #replied({ id, result, error }: Reply<R>, worker: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    if (error !== undefined) waiting.done(new Error(`worker ${worker}: ${error}`));
    else if (result !== undefined) waiting.replies.set(worker, result);
    if ([...waiting.wanted].every((wanted) => waiting.replies.has(wanted))) waiting.done();
  }
}
