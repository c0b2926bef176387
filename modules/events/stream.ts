import { gapEvent, type EventFeed, type FedEvent } from './feed.js';

/** Characters that are sent at once. */
const PIECE = 64 * 1024;
/** Asks clients to reconnect after a second (HTML, 9.2.6). */
const HELLO = 'retry: 1000\n\n';

export interface StreamOptions {
  /** Id of the last event that the client has; undefined: it gets those from now on. */
  readonly after: string | undefined;
  /** True if the client wants events of a type. */
  readonly wants: (type: string) => boolean;
  /** Milliseconds without an event after which a comment is sent. */
  readonly keepAlive: () => number;
  /** Aborted when the server ends, or has another configuration. */
  readonly leaving: AbortSignal;
}

/**
 * The events of one client as server-sent events. The next piece is made when the client has taken the one before: what is kept for a client is
 * a position. One that is slower than events come ends with an event that says so.
 */
export class EventStream implements AsyncIterableIterator<string> {
  #position = 0;
  #state: 'new' | 'open' | 'closed' = 'new';
  #wake: () => void = () => undefined;

  constructor(
    private readonly feed: EventFeed,
    private readonly options: StreamOptions,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string>> {
    if (this.#state === 'new') return { done: false, value: this.#open() };
    for (;;) {
      if (this.#isOver) return this.return();
      if (this.#position < this.feed.first) return { done: false, value: this.#cut() };
      const text = this.#collect();
      if (text !== '') return { done: false, value: text };
      if (!(await this.#event()) && !this.#isOver) return { done: false, value: this.#keepAlive() };
    }
  }

  /** The client is gone. */
  return(): Promise<IteratorResult<string>> {
    if (this.#state === 'open') this.feed.leave();
    this.#state = 'closed';
    this.#wake();
    return Promise.resolve({ done: true, value: undefined });
  }

  get #isOver(): boolean {
    return this.#state === 'closed' || this.options.leaving.aborted;
  }

  /** Nothing is kept for a stream without a reader: HEAD. */
  #open(): string {
    const { after } = this.options;
    this.#state = 'open';
    this.feed.enter();
    if (after === undefined) {
      this.#position = this.feed.end;
      return HELLO;
    }
    const position = this.feed.positionAfter(after);
    this.#position = position ?? this.feed.first;
    const reason = 'the events after this one are not kept, or it is of an earlier start of the server';
    return position === undefined ? HELLO + frame(gapEvent(reason, after)) : HELLO;
  }

  #collect(): string {
    let text = '';
    for (let event = this.feed.at(this.#position); event !== undefined; event = this.feed.at(++this.#position)) {
      if (event.type === 'gap' || this.options.wants(event.type)) text += frame(event);
      if (text.length < PIECE) continue;
      this.#position++;
      break;
    }
    return text;
  }

  /** False: there was none for the time of a keep-alive. */
  async #event(): Promise<boolean> {
    const { keepAlive, leaving } = this.options;
    let forget: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<boolean>((resolve) => {
        this.#wake = () => resolve(true);
        timer = setTimeout(resolve, keepAlive(), false);
        forget = this.feed.onEvent(this.#wake);
        leaving.addEventListener('abort', this.#wake);
      });
    } finally {
      clearTimeout(timer);
      forget?.();
      leaving.removeEventListener('abort', this.#wake);
    }
  }

  /** With the id of events that the client did not want: it needs no event for a gap there when it reconnects. */
  #keepAlive(): string {
    const { last } = this.feed;
    return last === undefined ? ': keep-alive\n\n' : `: keep-alive\nid: ${last}\n\n`;
  }

  #cut(): string {
    void this.return();
    const reason = 'too slow: the events to come are not kept any more';
    return frame({ type: 'cut', text: JSON.stringify({ type: 'cut', time: new Date().toISOString(), data: { reason } }) });
  }
}

function frame({ id, type, text }: FedEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${text}\n\n`;
}
