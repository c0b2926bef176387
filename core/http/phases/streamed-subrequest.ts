import type { OpenSubrequest } from '../../contract/http.js';
import { ByteQueue } from '../../net/byte-queue.js';
import type { Request } from '../request/request.js';
import { onResponseDrained } from '../response/response.js';
import type { OwnStream, ResponseTaker } from './own-stream.js';

/** Bytes that wait for the reader before the source of the response has to stop. */
const HIGH_WATER = 65_536;

type Step = IteratorResult<Buffer, undefined>;

/** The response of a subrequest in pieces: its source is as fast as the module that reads them. */
export class StreamedSubrequest implements ResponseTaker, AsyncIterableIterator<Buffer, undefined> {
  stream: OwnStream | undefined = undefined;
  #request: Request | undefined = undefined;
  readonly #waiting = new ByteQueue();
  #ended = false;
  #failure: Error | undefined = undefined;
  #wake: (() => void) | undefined = undefined;

  constructor(
    private readonly resolve: (opened: OpenSubrequest) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  get isBehind(): boolean {
    return this.#waiting.length >= HIGH_WATER;
  }

  get holdsHead(): boolean {
    return this.#request === undefined;
  }

  onHead(request: Request): void {
    if (this.#request !== undefined) return;
    this.#request = request;
    this.resolve({ status: request.status, request, body: this });
  }

  onBytes(piece: Buffer, borrowed: boolean): undefined {
    this.#waiting.push(piece, borrowed);
    this.#continue();
  }

  onDropped(): void {}

  onEnd(request: Request, error: Error | undefined): void {
    this.#ended = true;
    this.#failure = error;
    if (this.#request === undefined && error !== undefined) this.reject(error);
    else this.onHead(request);
    this.#continue();
  }

  // The body, for the module.

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    for (;;) {
      const wasBehind = this.isBehind;
      const value = this.#waiting.shift();
      if (value !== undefined) {
        const request = this.#request;
        if (wasBehind && !this.isBehind && request?.finished === false) onResponseDrained(request);
        return { value, done: false };
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return { value: undefined, done: true };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The module wants no more of it. */
  async return(): Promise<Step> {
    this.stream?.cancel();
    this.#failure = undefined;
    this.#waiting.clear();
    return { value: undefined, done: true };
  }

  #continue(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
