import type { Handle, OpenSsl } from './library.js';

/** Results of SSL_read_early_data. */
export const enum EarlyRead {
  Failed,
  Some,
  /** All of it is read. */
  Finished,
}

/** Bytes of the first read: more than a client may send at once. */
const SIZE = 16_384;

/**
 * Data that a client sends along with its first message (RFC 8446, 2.3). It is read, and responded to, before the handshake is over: by functions of
 * its own, which go on with the handshake as well.
 */
export class EarlyData {
  /** There may be more to read. */
  isReading = true;
  /** The handshake is not over. */
  isOpen = true;
  /** Read while the handshake began. */
  #first: Buffer | undefined = undefined;

  constructor(
    private readonly library: OpenSsl,
    private readonly ssl: Handle,
  ) {}

  get hasFirst(): boolean {
    return this.#first !== undefined;
  }

  /** Reads the first bytes, and keeps them. */
  begin(): EarlyRead {
    const buffer = Buffer.allocUnsafeSlow(SIZE);
    const result = this.#read(buffer);
    if (result === EarlyRead.Some) this.#first = buffer.subarray(0, this.library.moved);
    else if (result === EarlyRead.Finished) this.isOpen = false;
    return result;
  }

  /** @returns how many bytes; 0: none, see SSL_get_error, or {@link isReading} has ended */
  read(into: Uint8Array): number {
    const first = this.#first;
    if (first === undefined) return this.#read(into) === EarlyRead.Some ? this.library.moved : 0;
    const count = Math.min(first.length, into.length);
    into.set(first.subarray(0, count));
    this.#first = count < first.length ? first.subarray(count) : undefined;
    return count;
  }

  /** @returns how many bytes; 0: none, see SSL_get_error */
  write(at: Handle, length: number): number {
    const { c, movedAt } = this.library;
    return c.SSL_write_early_data(this.ssl, at, BigInt(length), movedAt) === 1 ? this.library.moved : 0;
  }

  /** After each read. */
  look(): void {
    if (!this.isReading && this.library.c.SSL_is_init_finished(this.ssl) === 1) this.isOpen = false;
  }

  #read(into: Uint8Array): EarlyRead {
    const { library } = this;
    const result: EarlyRead = library.c.SSL_read_early_data(this.ssl, library.at(into), library.lastLength, library.movedAt);
    if (result === EarlyRead.Finished) this.isReading = false;
    return result;
  }
}
