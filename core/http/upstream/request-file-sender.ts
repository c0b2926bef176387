import type { TemporaryFile } from '../request/temporary-file.js';
import type { PeerConnection } from '../../net/peer-connection.js';

/** Whose file is sent. */
export interface FileOwner {
  /** A piece is on its way to the member. */
  onFileSent(connection: PeerConnection): void;
  onFileUnreadable(): void;
}

/** Sends a body from its file to one member: the next piece is read when the member has taken the last one. */
export class RequestFileSender {
  readonly #buffer: Buffer;
  #sent = 0;
  #stopped = false;

  constructor(
    private readonly file: TemporaryFile,
    private readonly connection: PeerConnection,
    private readonly owner: FileOwner,
  ) {
    this.#buffer = connection.context.buffers.take();
    this.#next();
  }

  /** All of it was handed to the member's socket. */
  get isDone(): boolean {
    return this.#sent === this.file.length;
  }

  stop(): void {
    this.#stopped = true;
  }

  #next(): void {
    this.file.read(this.#buffer, this.#sent, (bytes) => this.#send(bytes));
  }

  #send(bytes: number): void {
    if (this.#stopped) return;
    if (bytes === 0) {
      this.owner.onFileUnreadable();
      return;
    }
    this.#sent += bytes;
    this.connection.writeBytes(this.#buffer.subarray(0, bytes), () => this.#taken());
    this.owner.onFileSent(this.connection);
  }

  #taken(): void {
    // The buffer of one that was stopped is left to the garbage collector: its last read or write may not be over.
    if (this.#stopped) return;
    if (this.isDone) this.connection.context.buffers.give(this.#buffer);
    else this.#next();
  }
}
