import { once } from 'node:events';
import { Readable } from 'node:stream';
import { DONE, type ResponseBody, type Result } from '../core/contract/http.js';

/** The body of a response that a handler sends in pieces ({@link HttpRequest.respond}), for unit tests. */
export class FakeResponseBody implements ResponseBody {
  closed = false;
  /** Set it for a client that does not read: {@link write} returns false, and {@link drained} waits for {@link drain}. */
  slow = false;
  /** Everything written so far. */
  text = '';
  /** It was ended, not cut off. */
  complete = false;
  readonly #listeners: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  #finished: Promise<unknown> | undefined;

  constructor(
    readonly status: number,
    readonly contentType: string | undefined,
    /** Bytes of the body as announced, -1: unknown. */
    readonly length: number,
  ) {}

  write(piece: Uint8Array | string): boolean {
    if (this.closed) return true;
    this.text += Buffer.from(piece).toString();
    const given = Buffer.byteLength(this.text);
    if (this.length >= 0 && given > this.length) throw new RangeError(`${given} bytes of a response of ${this.length} were written`);
    return !this.slow;
  }

  drained(): Promise<void> {
    if (!this.slow || this.closed) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The client has caught up, or is gone. */
  drain(): void {
    this.slow = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** @throws RangeError if bytes of the announced length are missing, where a real one cuts the response off */
  end(): void {
    const given = Buffer.byteLength(this.text);
    if (!this.closed && given < this.length)
      throw new RangeError(`${given} of the ${this.length} bytes of the response's length were written`);
    this.complete ||= !this.closed;
    this.closed = true;
  }

  /** Also what a test calls to play a client that goes away. */
  abort(): void {
    if (this.closed) return;
    this.closed = true;
    this.drain();
    for (const listener of this.#listeners) listener();
  }

  onClose(listener: () => void): void {
    if (this.closed && !this.complete) listener();
    else this.#listeners.push(listener);
  }

  pipe(source: AsyncIterable<Uint8Array | string>): Result {
    const readable = Readable.from(source);
    readable.on('data', (piece: Uint8Array | string) => {
      if (this.write(piece)) return;
      readable.pause();
      void this.drained().then(() => readable.resume());
    });
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
