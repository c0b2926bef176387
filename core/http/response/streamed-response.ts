import { DONE, type ResponseBody, type Result } from '../../contract/http.js';
import type { RequestOwner } from '../request/client-stream.js';
import { bodyBytes } from '../request/body-bytes.js';
import { logFailure, presentHandler } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';
import { endResponse, isResponseBehind, sendFailure, startResponse, writeResponse } from './response.js';

/** A response whose body a module gives in pieces: a source like any other, with the module's calls at its end. */
export class StreamedResponse implements ResponseBody, RequestOwner {
  readonly outlivesClient = false;
  readonly #handler: unknown;
  #closed = false;
  /** Closed before the module has ended it. */
  #givenUp = false;
  /** Bytes of the body as the module has announced them, -1: it has not; and the ones that it gave. */
  readonly #length: number;
  #given = 0;
  #waiting: (() => void)[] = [];
  #listeners: (() => void)[] = [];

  constructor(private readonly request: Request) {
    this.#handler = presentHandler(request);
    this.#length = request.response.length;
  }

  /** Sends the head, unless the client is gone. */
  start(): this {
    const { request } = this;
    if (request.isGone) {
      this.#giveUp();
      return this;
    }
    request.owner = this;
    if (startResponse(request)) {
      request.stream.flush(request);
      return this;
    }
    this.#giveUp();
    request.owner = undefined;
    sendFailure(request);
    return this;
  }

  get closed(): boolean {
    return this.#closed;
  }

  write(piece: Uint8Array | string): boolean {
    const { request } = this;
    if (this.#closed) return true;
    const bytes = bodyBytes(piece);
    if (bytes === undefined) throw new TypeError('a body must be written as Buffers or strings');
    this.#given += bytes.length;
    if (this.#length >= 0 && this.#given > this.#length) {
      this.#failed(new RangeError(`more than the ${this.#length} bytes of the response's length were written`));
      return true;
    }
    writeResponse(request, bytes, 0, bytes.length, undefined);
    // Writing may have ended it: a filter that failed.
    return this.closed || !this.#isBehind();
  }

  drained(): Promise<void> {
    if (this.#closed || !isResponseBehind(this.request)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  end(): void {
    const { request } = this;
    if (this.#closed) return;
    if (this.#given < this.#length && request.sendsBody) {
      this.#failed(new RangeError(`${this.#given} of the ${this.#length} bytes of the response's length were written`));
      return;
    }
    this.#close();
    request.owner = undefined;
    endResponse(request);
  }

  onClose(listener: () => void): void {
    if (this.#givenUp) listener();
    else if (!this.#closed) this.#listeners.push(listener);
  }

  pipe(source: AsyncIterable<Uint8Array | string>): Result {
    this.#pipe(source).catch((error: unknown) => this.#failed(error));
    return DONE;
  }

  /** By the module, or because the client is gone. */
  abort(): void {
    const { request } = this;
    if (this.#closed) return;
    this.#giveUp();
    if (!request.finished) request.stream.abort(request);
  }

  discard(): void {
    this.#giveUp();
  }

  onDrain(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  async #pipe(source: AsyncIterable<Uint8Array | string>): Promise<void> {
    const iterator = source[Symbol.asyncIterator]();
    // A source that waits is notified when there is no client any more.
    this.onClose(() => {
      Promise.resolve(iterator.return?.()).catch((error: unknown) => logFailure(this.request, error, this.#handler));
    });
    for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
      if (this.#closed) return;
      if (!this.write(step.value)) await this.drained();
    }
    this.end();
  }

  #failed(error: unknown): void {
    logFailure(this.request, error, this.#handler);
    this.abort();
  }

  #isBehind(): boolean {
    const { request } = this;
    if (!isResponseBehind(request)) return false;
    if (request.stream.isBehind) request.stream.watchSending(request);
    return true;
  }

  #giveUp(): void {
    if (this.#closed) return;
    const listeners = this.#listeners;
    this.#givenUp = true;
    this.#close();
    for (const listener of listeners) listener();
  }

  #close(): void {
    this.#closed = true;
    this.#listeners = [];
    this.onDrain();
  }
}
