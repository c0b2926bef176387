import { ApiError } from '../contract/control.js';

/** Milliseconds in which a stream has to begin: its client may have left before. */
const BEGINS_WITHIN = 10_000;

/** Places for clients that follow something through the API, each with a stream. Clients that come at the same moment are no more, either. */
export class StreamPlaces {
  #taken = 0;

  /** @param what they follow, for the error */
  constructor(
    private readonly most: number,
    private readonly what: string,
  ) {}

  /** A place for a stream that begins after a check, which frees it when it fails. @throws ApiError 503 `TooManyStreams`, and what the check throws */
  async takeAfter(check: () => Promise<unknown>): Promise<StreamPlace> {
    const place = this.take();
    try {
      await check();
      return place;
    } catch (error) {
      place.free();
      throw error;
    }
  }

  /** To be called before anything is waited for. @throws ApiError 503 `TooManyStreams` */
  take(): StreamPlace {
    if (this.#taken >= this.most) throw new ApiError(503, 'TooManyStreams', `${this.most} clients follow ${this.what} already`);
    this.#taken++;
    return new StreamPlace(() => this.#taken--);
  }
}

/** A place of {@link StreamPlaces}, until it is freed, or its stream has ended. */
export class StreamPlace {
  #isFree = false;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly left: () => void) {
    this.#timer = setTimeout(() => this.free(), BEGINS_WITHIN).unref();
  }

  free(): void {
    clearTimeout(this.#timer);
    if (this.#isFree) return;
    this.#isFree = true;
    this.left();
  }

  /** The stream, whose end frees the place. */
  hold<T>(stream: AsyncIterable<T>): AsyncIterableIterator<T, undefined> {
    const steps = stream[Symbol.asyncIterator]();
    const ended = (): IteratorResult<T, undefined> => {
      this.free();
      return { value: undefined, done: true };
    };
    const held: AsyncIterableIterator<T, undefined> = {
      next: async () => {
        clearTimeout(this.#timer);
        try {
          const step = await steps.next();
          return step.done === true ? ended() : step;
        } catch (error) {
          this.free();
          throw error;
        }
      },
      return: async () => {
        ended();
        await steps.return?.();
        return { value: undefined, done: true };
      },
      [Symbol.asyncIterator]: () => held,
    };
    return held;
  }
}
