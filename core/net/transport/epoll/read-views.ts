/** Longer reads are rare. */
const LONGEST = 16_384;
const PLACES = 64;

/** Views of memory that is read into: heads of one site have few lengths, and a new view costs as much as a small read. */
export class ReadViews {
  readonly #views: (Buffer | undefined)[] = Array.from({ length: PLACES }, () => undefined);
  readonly #buffers: (Buffer | undefined)[] = Array.from({ length: PLACES }, () => undefined);

  /** The first bytes of a buffer that is kept permanently. */
  of(buffer: Buffer, length: number): Buffer {
    if (length > LONGEST) return buffer.subarray(0, length);
    const at = length % PLACES;
    const known = this.#views[at];
    if (known !== undefined && this.#buffers[at] === buffer && known.length === length) return known;
    const view = buffer.subarray(0, length);
    this.#views[at] = view;
    this.#buffers[at] = buffer;
    return view;
  }
}
