import { once } from 'node:events';
import { Readable } from 'node:stream';
import { DONE, type ResponseBody, type Result } from '../core/module/http.js';

/** The body of a response that a handler sends in pieces ({@link HttpRequest.respond}), for unit tests. */
export class FakeResponseBody implements ResponseBody {
  closed = false;
  /** Everything written so far. */
  text = '';
  /** It was ended, not cut off. */
  complete = false;
  readonly #listeners: (() => void)[] = [];
  #finished: Promise<unknown> | undefined;

  constructor(
    readonly status: number,
    readonly contentType: string | undefined,
    /** Bytes of the body as announced, -1: unknown. */
    readonly length: number,
  ) {}

  write(piece: Buffer | string): boolean {
    if (!this.closed) this.text += piece.toString();
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(): void {
    this.complete ||= !this.closed;
    this.closed = true;
  }

  /** Also what a test calls to play a client that goes away. */
  abort(): void {
    if (this.closed) return;
    this.closed = true;
    for (const listener of this.#listeners) listener();
  }

  onClose(listener: () => void): void {
    this.#listeners.push(listener);
  }

  pipe(source: AsyncIterable<Buffer | string>): Result {
    const readable = Readable.from(source);
    readable.on('data', (piece: Buffer | string) => this.write(piece));
    readable.on('end', () => this.end());
    readable.on('error', () => this.abort());
    this.#finished = once(readable, 'close');
    return DONE;
  }

  /** Resolves when what {@link pipe} got has ended. */
  async finished(): Promise<void> {
    await this.#finished;
  }
}
