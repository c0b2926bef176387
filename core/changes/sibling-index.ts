/** Rows of the journal by the directive they were placed in front of: its rows have the address of their sibling, and are looked up by it. */
export class SiblingIndex {
  readonly #siblings = new Map<string, string>();
  readonly #inFront = new Map<string, Set<string>>();

  /** A row was written. @param sibling undefined: what it is about comes last in its block */
  put(address: string, sibling: string | undefined): void {
    this.delete(address);
    if (sibling === undefined) return;
    this.#siblings.set(address, sibling);
    const others = this.#inFront.get(sibling);
    if (others === undefined) this.#inFront.set(sibling, new Set([address]));
    else others.add(address);
  }

  delete(address: string): void {
    const sibling = this.#siblings.get(address);
    if (sibling === undefined) return;
    this.#siblings.delete(address);
    const others = this.#inFront.get(sibling);
    others?.delete(address);
    if (others?.size === 0) this.#inFront.delete(sibling);
  }

  /** Addresses of the rows about what was put in front of it. */
  inFrontOf(sibling: string): Iterable<string> {
    return this.#inFront.get(sibling) ?? [];
  }
}
