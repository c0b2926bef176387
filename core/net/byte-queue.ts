/** From this size on a piece that is given away is kept as it is. */
const LARGE = 16_384;
/** Blocks that small pieces are copied into: no larger than what is here already, and than this. */
const LARGEST_BLOCK = 65_536;

/** Bytes that wait. Small pieces are copied together: however small they are, what waits takes at most about twice its bytes of memory. */
export class ByteQueue {
  length = 0;
  #pieces: Buffer[] = [];
  /** The last piece, which grows: the block up to `end`. */
  #block: Buffer | undefined = undefined;
  #end = 0;

  get isEmpty(): boolean {
    return this.length === 0;
  }

  /** @param borrowed the bytes are only valid during the call; else they must not be changed any more */
  push(piece: Buffer, borrowed: boolean): void {
    const { length } = piece;
    if (length === 0) return;
    // A body of one piece, as most are, is not copied again.
    if (!borrowed && (length >= LARGE || this.length === 0)) {
      this.#close();
      this.#pieces.push(piece);
    } else {
      if (this.#block === undefined || this.#block.length - this.#end < length) this.#open(length);
      this.#end += piece.copy(this.#block as Buffer, this.#end);
    }
    this.length += length;
  }

  /** Takes out the first piece; undefined: nothing is here. */
  shift(): Buffer | undefined {
    if (this.#pieces.length === 0) this.#close();
    const piece = this.#pieces.shift();
    if (piece !== undefined) this.length -= piece.length;
    return piece;
  }

  /** Puts the rest of a piece back that was taken out. */
  unshift(piece: Buffer): void {
    this.#pieces.unshift(piece);
    this.length += piece.length;
  }

  /** Takes out everything, in pieces. */
  take(): Buffer[] {
    const pieces = this.pieces();
    this.clear();
    return pieces;
  }

  /** Takes out everything as one piece. */
  takeWhole(): Buffer {
    const { length } = this;
    const pieces = this.take();
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, length);
  }

  /** Its content, in pieces that stay. */
  pieces(): Buffer[] {
    this.#close();
    return [...this.#pieces];
  }

  clear(): void {
    this.length = 0;
    this.#pieces = [];
    this.#block = undefined;
    this.#end = 0;
  }

  /** A new block, large enough for the next piece. */
  #open(length: number): void {
    this.#close();
    this.#block = Buffer.allocUnsafe(Math.max(length, Math.min(this.length, LARGEST_BLOCK)));
  }

  /** The last piece does not grow any more. It keeps no large block for a few bytes. */
  #close(): void {
    const block = this.#block;
    if (block === undefined) return;
    const piece = block.subarray(0, this.#end);
    this.#pieces.push(2 * piece.length < block.length ? copyOf(piece) : piece);
    this.#block = undefined;
    this.#end = 0;
  }
}

/** In memory of its own, not in a part of a larger block that it would keep. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
