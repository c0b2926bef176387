/** Bytes of a response that wait for a window of the client. */
export class OutputQueue {
  #pieces: Buffer[] = [];
  /** The last piece is valid only until {@link retain}. */
  #borrowed = false;
  length = 0;
  /** The piece that was taken last is valid only during the call. */
  tookBorrowed = false;

  get isWaiting(): boolean {
    return this.length > 0;
  }

  push(chunk: Buffer, from: number, to: number, borrowed: boolean): void {
    this.#pieces.push(chunk.subarray(from, to));
    this.#borrowed = borrowed;
    this.length += to - from;
  }

  /** Takes out up to `most` bytes. Undefined: nothing is here. */
  take(most: number): Buffer | undefined {
    const first = this.#pieces[0];
    if (first === undefined || most <= 0) return undefined;
    this.tookBorrowed = this.#borrowed && this.#pieces.length === 1;
    const piece = first.length <= most ? first : first.subarray(0, most);
    if (piece.length === first.length) this.#pieces.shift();
    else this.#pieces[0] = first.subarray(most);
    this.length -= piece.length;
    return piece;
  }

  /** The call in which the last piece was borrowed is over: what is left of it is copied. */
  retain(): void {
    if (!this.#borrowed) return;
    this.#borrowed = false;
    const last = this.#pieces.pop();
    if (last !== undefined) this.#pieces.push(Buffer.from(last));
  }

  clear(): void {
    this.#pieces = [];
    this.length = 0;
  }
}
