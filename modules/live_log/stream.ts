import type { FedEntry } from './entry.js';
import type { LogFeed } from './feed.js';
import type { EntryFilter } from './filter.js';

const PAGE = 200;
const KEEP_ALIVE = 15_000;
/** Asks clients to reconnect after a second (HTML, 9.2.6). */
const HELLO = 'retry: 1000\n\n';

export interface LogStreamOptions {
  /** As the client wrote it. */
  readonly filter: string;
  readonly wants: EntryFilter;
  /** Aborted when the server ends, or has another configuration. */
  readonly leaving: AbortSignal;
}

/**
 * The entries of one client as server-sent events. The next piece is made when the client has taken the one before: what is kept for a client is a
 * position. One that is slower than entries come misses some, and gets their number.
 */
export class LogStream implements AsyncIterableIterator<string> {
  #position = 0;
  #state: 'new' | 'open' | 'closed' = 'new';
  #wake: () => void = () => undefined;

  constructor(
    private readonly feed: LogFeed,
    private readonly options: LogStreamOptions,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string>> {
    if (this.#state === 'new') return this.#open();
    for (;;) {
      if (this.#state === 'closed' || this.options.leaving.aborted) return this.return();
      const { entries, next } = this.feed.ring.read(this.#position, PAGE);
      this.#position = next;
      const text = entries
        .filter((entry) => this.#wants(entry))
        .map(frame)
        .join('');
      if (text !== '') return { done: false, value: text };
      if (entries.length === 0 && !(await this.#entry()) && this.#state === 'open') return { done: false, value: ': keep-alive\n\n' };
    }
  }

  /** The client is gone. */
  return(): Promise<IteratorResult<string>> {
    if (this.#state === 'open') this.feed.leave(this.options.filter);
    this.#state = 'closed';
    this.#wake();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Nothing is collected for a stream without a reader: HEAD. */
  async #open(): Promise<IteratorResult<string>> {
    this.#state = 'open';
    await this.feed.enter(this.options.filter, { dryRun: false, requestId: 'logs' });
    this.#position = this.feed.ring.end;
    return { done: false, value: HELLO };
  }

  #wants(entry: FedEntry): boolean {
    return entry.kind === 'lost' || this.options.wants(entry);
  }

  /** False: there was none for the time of a keep-alive. */
  async #entry(): Promise<boolean> {
    const { leaving } = this.options;
    let timer: NodeJS.Timeout | undefined;
    let forget: (() => void) | undefined;
    try {
      return await new Promise<boolean>((resolve) => {
        this.#wake = () => resolve(true);
        timer = setTimeout(resolve, KEEP_ALIVE, false);
        forget = this.feed.ring.onEntry(this.#wake);
        leaving.addEventListener('abort', this.#wake);
      });
    } finally {
      clearTimeout(timer);
      forget?.();
      leaving.removeEventListener('abort', this.#wake);
    }
  }
}

function frame(entry: FedEntry): string {
  return `event: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`;
}
