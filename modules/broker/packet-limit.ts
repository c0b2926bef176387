import { Duplex } from 'node:stream';

/**
 * A connection that ends itself when the other side announces an MQTT packet longer than `limit` bytes, before a byte of it is kept, because the
 * parser of aedes would collect up to 256 MiB. Reads the fixed headers only (MQTT 3.1.1, 2.2).
 */
export class PacketLimit extends Duplex {
  /** Bytes of the current packet that are still to come; 0: a fixed header follows. */
  #left = 0;
  /** Position in the fixed header: 0 the type, then the bytes of the remaining length. */
  #position = 0;
  #maxUnsent: number | undefined;

  constructor(
    private readonly connection: Duplex,
    private readonly limit: number,
  ) {
    super();
    connection.on('data', (chunk: Buffer) => this.#take(chunk));
    connection.on('end', () => this.push(null));
    connection.on('error', (error) => this.destroy(error));
    connection.on('close', () => this.destroy());
  }

  override _read(): void {
    this.connection.resume();
  }

  /** From now on writing never waits: a client with more than this number of unread bytes is cut off. */
  limitUnsent(bytes: number): void {
    this.#maxUnsent = bytes;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#maxUnsent === undefined) {
      this.connection.write(chunk, done);
      return;
    }
    this.connection.write(chunk);
    if (this.connection.writableLength <= this.#maxUnsent) done();
    else done(new Error(`it is too slow: cut off with more than ${this.#maxUnsent} unsent bytes`));
  }

  override _final(done: (error?: Error | null) => void): void {
    this.connection.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.connection.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    if (!this.#allows(chunk)) this.destroy(new Error(`a packet is longer than ${this.limit} bytes`));
    else if (!this.push(chunk)) this.connection.pause();
  }

  #allows(chunk: Buffer): boolean {
    let at = 0;
    while (at < chunk.length) {
      if (this.#position === 0 && this.#left > 0) {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      if (!this.#header(chunk[at++] ?? 0)) return false;
    }
    return true;
  }

  /** Takes one byte of a fixed header; false if the packet is too long. */
  #header(byte: number): boolean {
    if (this.#position++ === 0) return true;
    this.#left += (byte & 0x7f) * 128 ** (this.#position - 2);
    if (this.#left > this.limit || this.#position > 5) return false;
    if (byte < 0x80) this.#position = 0;
    return true;
  }
}
