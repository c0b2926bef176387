import { ByteQueue } from '../byte-queue.js';

/** Counts what waits for one client. */
interface WaitingBytes {
  /** @param bytes below 0: they wait no more */
  count(bytes: number): void;
}

/** Bytes of a response that wait for a window of the client or for the socket. */
export class OutputQueue {
  readonly #pieces = new ByteQueue();
  /** Rest of the piece that was read last. */
  #rest: Buffer | undefined = undefined;
  length = 0;

  constructor(private readonly memory: WaitingBytes) {}

  /** @param borrowed the bytes are only valid during the call */
  push(piece: Buffer, borrowed: boolean): void {
    this.#pieces.push(piece, borrowed);
    this.#count(piece.length);
  }

  /** Takes out up to `most` bytes. Undefined: nothing is here. */
  take(most: number): Buffer | undefined {
    if (most <= 0) return undefined;
    const first = this.#rest ?? this.#pieces.shift();
    if (first === undefined) return undefined;
    const isWhole = first.length <= most;
    this.#rest = isWhole ? undefined : first.subarray(most);
    const piece = isWhole ? first : first.subarray(0, most);
    this.#count(-piece.length);
    return piece;
  }

  clear(): void {
    this.#pieces.clear();
    this.#rest = undefined;
    this.#count(-this.length);
  }

  #count(bytes: number): void {
    this.length += bytes;
    this.memory.count(bytes);
  }
}
