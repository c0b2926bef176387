import { JOINED, type ByteCalls } from './calls.js';
import { Errno } from './errno.js';

/** Pieces up to here are copied next to others, so that they leave in one call. */
const SMALL = 16_384;

type Taken = (error?: Error | null) => void;

/** Written bytes that the system has not accepted yet. */
interface Piece {
  data: string | Uint8Array;
  readonly taken: Taken | undefined;
}

/** Bytes that one connection still has to send. */
export class UnsentOutput {
  /** Bytes. */
  length = 0;
  readonly #pieces: Piece[] = [];

  add(data: string | Uint8Array, taken: Taken | undefined): void {
    this.length += data.length;
    this.#pieces.push({ data, taken });
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Sends what the system accepts. @returns 0, also if that is not all; below 0: the number of an error */
  send(calls: ByteCalls, descriptor: number): number {
    while (this.#pieces.length > 0) {
      const [first] = this.#pieces as [Piece];
      const isLarge = typeof first.data !== 'string' && first.data.length > SMALL;
      const length = isLarge ? first.data.length : this.#join(calls.joined);
      const sent = isLarge ? calls.send(descriptor, first.data as Uint8Array) : this.#sendJoined(calls, descriptor, length);
      if (sent < 0) return sent === -Errno.Again || sent === -Errno.Interrupted ? 0 : sent;
      this.#drop(sent);
      if (sent < length) return 0;
    }
    return 0;
  }

  /** Nothing of it will be sent. */
  abandon(): void {
    for (const { taken } of this.#pieces.splice(0)) taken?.(new Error('the connection is closed'));
    this.length = 0;
  }

  #sendJoined(calls: ByteCalls, descriptor: number, length: number): number {
    if (length === 0) return 0;
    return this.length > length ? calls.sendJoinedFirst(descriptor, length) : calls.sendJoined(descriptor, length);
  }

  /** @returns bytes of pieces that stand in the memory now */
  #join(joined: Buffer): number {
    let length = 0;
    for (const piece of this.#pieces) {
      const { data } = piece;
      if (typeof data === 'string') {
        if (data.length > JOINED) {
          piece.data = Buffer.from(data, 'latin1');
          return length;
        }
        if (length + data.length > JOINED) return length;
        length += joined.latin1Write(data, length);
      } else {
        if (data.length > SMALL || length + data.length > JOINED) return length;
        joined.set(data, length);
        length += data.length;
      }
    }
    return length;
  }

  #drop(sent: number): void {
    this.length -= sent;
    let whole = 0;
    for (const piece of this.#pieces) {
      const { data, taken } = piece;
      if (sent < data.length) {
        if (sent > 0) piece.data = typeof data === 'string' ? data.slice(sent) : data.subarray(sent);
        break;
      }
      sent -= data.length;
      whole++;
      if (taken !== undefined) process.nextTick(taken);
    }
    this.#pieces.splice(0, whole);
  }
}
