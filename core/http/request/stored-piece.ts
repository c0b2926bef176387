/** From this size on a piece that is given away is kept as it is. */
const LARGE = 16_384;
/** Blocks that small pieces are copied into: no larger than what is here already, and than this. */
const LARGEST_BLOCK = 65_536;

/** Neighbouring bytes of a {@link BodyStore}: in memory, or in its file. */
export class StoredPiece {
  /** Memory for what follows, of which `bytes` is the part that is in use. */
  #block: Buffer | undefined = undefined;

  private constructor(
    /** Place of the first byte in the body. */
    readonly start: number,
    public length: number,
    /** Undefined: they are in the file. */
    public bytes: Buffer | undefined,
    /** Place of the first byte in the file. */
    readonly fileAt: number,
  ) {}

  static inFile(start: number, length: number, fileAt: number): StoredPiece {
    return new StoredPiece(start, length, undefined, fileAt);
  }

  /**
   * @param borrowed the bytes are only valid during the call
   * @param inMemory bytes of the body that are in memory: a block for later ones is not larger, so that few bytes use little memory
   */
  static inMemory(start: number, chunk: Buffer, borrowed: boolean, inMemory: number): StoredPiece {
    const { length } = chunk;
    if (!borrowed && (length >= LARGE || inMemory === length)) return new StoredPiece(start, length, chunk, 0);
    const block = Buffer.allocUnsafe(Math.max(length, Math.min(inMemory, LARGEST_BLOCK)));
    chunk.copy(block);
    const piece = new StoredPiece(start, length, block.subarray(0, length), 0);
    piece.#block = block;
    return piece;
  }

  get end(): number {
    return this.start + this.length;
  }

  /** Takes a small chunk into what is left of its block. False: there is no room. */
  take(chunk: Buffer): boolean {
    const block = this.#block;
    if (block === undefined || block.length - this.length < chunk.length) return false;
    chunk.copy(block, this.length);
    this.length += chunk.length;
    this.bytes = block.subarray(0, this.length);
    return true;
  }

  /** Nothing more is added: a large block is not held for a few bytes. */
  trim(): void {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined || this.bytes === undefined || 2 * this.length >= block.length) return;
    const copy = Buffer.allocUnsafeSlow(this.length);
    this.bytes.copy(copy);
    this.bytes = copy;
  }
}
