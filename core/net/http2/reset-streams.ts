/** Streams that are remembered: what a client has under way for older ones has come by then. */
const KEPT = 128;

/** Streams that this side has reset before the client ended them: frames of theirs are still on their way (RFC 9113, 5.1, closed). */
export class ResetStreams {
  readonly #ids = new Set<number>();

  add(id: number): void {
    this.#ids.add(id);
    if (this.#ids.size <= KEPT) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      return;
    }
  }

  has(id: number): boolean {
    return this.#ids.has(id);
  }
}
