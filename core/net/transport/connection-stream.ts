import { Duplex } from 'node:stream';
import type { Connection, ConnectingUser } from './connection.js';

/** Its used parts. */
type StreamedConnection = Pick<Connection, 'write' | 'end' | 'destroy' | 'pause' | 'resume'>;

/** A connection as a stream of Node.js, for libraries that need one. It emits `connect` when it is made. */
export class ConnectionStream extends Duplex implements ConnectingUser {
  #connection: StreamedConnection | undefined = undefined;
  #isOpen = false;
  /** Sends the first bytes, when it is made. */
  #unsent: (() => void) | undefined = undefined;
  #failure: Error | undefined = undefined;

  /** @param connection an accepted one; absent: {@link use} follows */
  constructor(connection?: Connection) {
    super({ allowHalfOpen: false });
    if (connection === undefined) return;
    this.#connection = connection;
    this.#isOpen = true;
    connection.client = this;
  }

  /** @param connection one that it is the user of */
  use(connection: StreamedConnection): this {
    this.#connection = connection;
    return this;
  }

  override _read(): void {
    this.#connection?.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#whenOpen(() =>
      this.#connection?.write(chunk, (error) => {
        // The connection has failed otherwise: its end, which follows, has the reason.
        if ((error ?? undefined) === undefined) done();
      }),
    );
  }

  override _final(done: () => void): void {
    this.#whenOpen(() => {
      this.#connection?.end();
      done();
    });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection?.destroy();
    done(error);
  }

  /** TLS may begin before: what is written then would go in front of it. */
  #whenOpen(send: () => void): void {
    if (this.#isOpen) send();
    else this.#unsent = send;
  }

  // The connection's side.

  onConnect(): void {
    this.#isOpen = true;
    this.emit('connect');
    this.#unsent?.();
    this.#unsent = undefined;
  }

  onData(chunk: Buffer, borrowed = true): void {
    if (!this.push(borrowed ? Buffer.from(chunk) : chunk)) this.#connection?.pause();
  }

  onEnd(): void {
    this.push(null);
  }

  onDrain(): void {}

  onError(error: Error): void {
    this.#failure = error;
  }

  onClose(): void {
    this.destroy(this.#failure);
  }
}
