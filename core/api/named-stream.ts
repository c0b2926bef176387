import { NamedFailure } from '../contract/thrown.js';

type Piece = Uint8Array | string;

/** The stream of a reply. Its exceptions name the route that it belongs to: the location that sends it is that of the whole API. */
export class NamedStream implements AsyncIterableIterator<Piece> {
  #pieces: AsyncIterator<Piece> | undefined = undefined;

  /** @param what for the log: `route GET /v1/acme of module "acme_http_x_module"` */
  constructor(
    private readonly stream: AsyncIterable<Piece>,
    private readonly what: string,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Piece>> {
    return this.#named(() => this.#opened().next());
  }

  /** Also of a stream that was never read: it may hold something. */
  return(): Promise<IteratorResult<Piece>> {
    return this.#named(async () => (await this.#opened().return?.()) ?? { done: true, value: undefined });
  }

  #opened(): AsyncIterator<Piece> {
    return (this.#pieces ??= this.stream[Symbol.asyncIterator]());
  }

  async #named<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      throw new NamedFailure(`stream of ${this.what}`, error);
    }
  }
}
