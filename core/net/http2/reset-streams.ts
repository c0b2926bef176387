/** Streams that are remembered: what a client has under way for older ones has come by then. */
const KEPT = 128;

/** Streams that this side has reset before the client ended them: frames of theirs are still on their way (RFC 9113, 5.1, closed). */
export class ResetStreams {
  /** Most connections have none. */
  #ids: Set<number> | undefined = undefined;

  add(id: number): void {
    const ids = (this.#ids ??= new Set());
    ids.add(id);
    if (ids.size <= KEPT) return;
    for (const oldest of ids) {
      ids.delete(oldest);
      return;
    }
  }

  has(id: number): boolean {
    return this.#ids?.has(id) === true;
  }
}
