/** Lets so many lookups run at the same time: thousands of names at once would drown a name server. */
export class LookupTurns {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(private readonly most: number) {}

  async run<T>(lookup: () => Promise<T>): Promise<T> {
    if (this.#running < this.most) this.#running++;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await lookup();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
