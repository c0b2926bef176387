/** The beginning of a body, as far as it has arrived, and the rest of it. */
export class Beginning {
  readonly pieces: Buffer[] = [];
  /** Bytes of the pieces. */
  length = 0;
  /** There is no rest. */
  isWhole = false;
  /** Asked for, and not there yet. */
  #awaited: Promise<IteratorResult<Buffer>> | undefined = undefined;

  constructor(private readonly body: AsyncIterator<Buffer>) {}

  /** Takes pieces until there are more bytes than this, or the time is over. @throws (rejects) what the body throws */
  async read(most: number, over: Promise<undefined> | undefined): Promise<void> {
    while (this.length <= most) {
      this.#awaited = this.body.next();
      const step = over === undefined ? await this.#awaited : await Promise.race([this.#awaited, over]);
      if (step === undefined) return;
      this.#awaited = undefined;
      this.isWhole = step.done === true;
      if (step.done === true) return;
      this.length += step.value.length;
      // A piece that is kept for a while must not hold a larger piece of memory.
      this.pieces.push(this.length > most ? step.value : Buffer.from(step.value));
    }
  }

  /** The next piece of the rest. Undefined: that was all. @throws (rejects) what the body throws */
  async next(): Promise<Buffer | undefined> {
    const step = await (this.#awaited ?? this.body.next());
    this.#awaited = undefined;
    return step.done === true ? undefined : step.value;
  }

  /** No more of the rest is wanted. */
  readonly end = (): void => {
    this.#awaited?.catch(() => undefined);
    this.body.return?.().catch(() => undefined);
  };
}

/** @param most see {@link Beginning.read} @param ms the longest wait for it; undefined: as long as it takes */
export async function beginningOf(body: AsyncIterable<Buffer>, most: number, ms: number | undefined): Promise<Beginning> {
  const beginning = new Beginning(body[Symbol.asyncIterator]());
  if (ms === undefined) {
    await beginning.read(most, undefined);
    return beginning;
  }
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    await beginning.read(most, promise);
    return beginning;
  } finally {
    clearTimeout(timer);
  }
}
