/**
 * Reads the presentation language of TLS (RFC 8446, 3): numbers, and vectors with their length in front. A text that ends too early breaks
 * the reader, and the readers around it, instead of throwing: numbers are 0 from then on, and vectors empty.
 */
export class VectorReader {
  #at = 0;
  #isBroken = false;

  /** @param around the reader of what the bytes are a part of */
  constructor(
    private readonly bytes: Buffer,
    private readonly around?: VectorReader,
  ) {}

  /** The text ended too early, here or in a vector of it. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  get isAtEnd(): boolean {
    return this.#at === this.bytes.length;
  }

  /** @param width its bytes */
  number(width: 1 | 2): number {
    const at = this.#advance(width);
    return at < 0 ? 0 : this.bytes.readUIntBE(at, width);
  }

  skip(length: number): void {
    this.#advance(length);
  }

  /** @param width the bytes of its length */
  vector(width: 1 | 2): VectorReader {
    return new VectorReader(this.#vectorBytes(width), this);
  }

  /** A vector as a string of bytes (latin1). */
  text(width: 1 | 2): string {
    return this.#vectorBytes(width).latin1Slice();
  }

  #vectorBytes(width: 1 | 2): Buffer {
    const length = this.number(width);
    const at = this.#advance(length);
    return at < 0 ? this.bytes.subarray(0, 0) : this.bytes.subarray(at, at + length);
  }

  /** Where the next bytes are; -1: they are not all there. */
  #advance(length: number): number {
    const at = this.#at;
    if (length > this.bytes.length - at) {
      this.#at = this.bytes.length;
      this.#break();
      return -1;
    }
    this.#at = at + length;
    return at;
  }

  #break(): void {
    this.#isBroken = true;
    if (this.around !== undefined) this.around.#break();
  }
}
