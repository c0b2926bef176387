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
    return this.#named(() => {
      this.#pieces ??= this.stream[Symbol.asyncIterator]();
      return this.#pieces.next();
    });
  }

  return(): Promise<IteratorResult<Piece>> {
    return this.#named(async () => (await this.#pieces?.return?.()) ?? { done: true, value: undefined });
  }

  async #named<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      throw new NamedFailure(`stream of ${this.what}`, error);
    }
  }
}
