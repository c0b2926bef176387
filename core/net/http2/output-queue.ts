import { ByteQueue } from '../../../net/byte-queue.js';

/** Bytes of a response that wait for a window of the client or for the socket. */
export class OutputQueue {
  readonly #pieces = new ByteQueue();
  /** What is left of the piece that was taken from last. */
  #rest: Buffer | undefined = undefined;
  length = 0;

  /** @param borrowed the bytes are only valid during the call */
  push(piece: Buffer, borrowed: boolean): void {
    this.#pieces.push(piece, borrowed);
    this.length += piece.length;
  }

  /** Takes out up to `most` bytes. Undefined: nothing is here. */
  take(most: number): Buffer | undefined {
    if (most <= 0) return undefined;
    const first = this.#rest ?? this.#pieces.shift();
    if (first === undefined) return undefined;
    const isWhole = first.length <= most;
    this.#rest = isWhole ? undefined : first.subarray(most);
    const piece = isWhole ? first : first.subarray(0, most);
    this.length -= piece.length;
    return piece;
  }

  clear(): void {
    this.#pieces.clear();
    this.#rest = undefined;
    this.length = 0;
  }
}
