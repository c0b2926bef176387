/** Marks that a node remembers. */
const MOST = 1000;

/** Marks of the last entries that a node has applied (see `LogVersion.mark`): they show where a log that has lost entries is still the same. */
export class KnownMarks {
  #epoch = 0;
  readonly #marks = new Map<number, number>();

  add(epoch: number, number: number, mark: number): void {
    if (epoch !== this.#epoch) this.#marks.clear();
    this.#epoch = epoch;
    this.#marks.delete(number);
    this.#marks.set(number, mark);
    const [oldest] = this.#marks.keys();
    if (this.#marks.size > MOST && oldest !== undefined) this.#marks.delete(oldest);
  }

  has(epoch: number, number: number, mark: number): boolean {
    return epoch === this.#epoch && this.#marks.get(number) === mark;
  }
}
