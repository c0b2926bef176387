import { writeChunk } from './response.js';
import { filterBody } from './filters.js';
import type { Request } from '../request/request.js';
import type { UpstreamConnection } from '../upstream/upstream-connection.js';

/** Bytes the client's socket may hold before the member is told to wait. */
const HIGH_WATER = 131_072;

/**
 * The body of an answer on its way from a member to the client: framed if the client needs it, through the filters of the location if
 * there are any, else as the buffers it came in.
 */
export class AnswerBody {
  /** The head, until it leaves with the first bytes. */
  #head: string;
  #connection: UpstreamConnection | undefined = undefined;
  #borrowed = false;
  /** A filter threw: the answer cannot be completed. */
  failed = false;
  /** Read buffers that the client's socket still needs. */
  readonly #inFlight: Buffer[] = [];

  constructor(
    private readonly request: Request,
    head: string,
  ) {
    this.#head = head;
  }

  /** Not even the head is out. */
  get isUnsent(): boolean {
    return this.#head !== '';
  }

  /** More is held for the client than it should be. */
  get isBehind(): boolean {
    return this.request.connection.socket.writableLength > HIGH_WATER;
  }

  /** Says whose bytes the next writes are. */
  from(connection: UpstreamConnection, borrowed: boolean): void {
    this.#connection = connection;
    this.#borrowed = borrowed;
  }

  flushHead(): void {
    if (this.#head === '') return;
    this.request.bytesSent += this.#head.length;
    this.request.connection.socket.write(this.#head, 'latin1');
    this.#head = '';
  }

  write(chunk: Buffer, from: number, to: number): void {
    const { request } = this;
    if (!request.sendsBody || from === to) return;
    if (request.location.bodyFilters.length > 0) this.#writeFiltered(chunk.subarray(from, to), false);
    else this.#writePlain(chunk, from, to);
  }

  end(): void {
    const { request } = this;
    if (request.sendsBody && request.location.bodyFilters.length > 0) this.#writeFiltered(Buffer.alloc(0), true);
    if (this.failed) return;
    this.flushHead();
    if (request.chunked) {
      request.connection.socket.write('0\r\n\r\n', 'latin1');
      request.bytesSent += 5;
    }
    this.#recycle();
  }

  /** The client is gone or cut off; the buffers are the collector's. */
  stop(): void {
    this.#inFlight.length = 0;
    this.#connection = undefined;
  }

  onClientDrain(): void {
    this.#recycle();
  }

  #writePlain(chunk: Buffer, from: number, to: number): void {
    const { request } = this;
    if (request.chunked) {
      const head = this.#head;
      this.#head = '';
      writeChunk(request, head, chunk, from, to, this.#borrowed);
      return;
    }
    this.flushHead();
    this.#writeBuffer(chunk, from, to);
  }

  /** Passes the very memory on that the bytes were read into, and keeps it from being read into again until it is sent. */
  #writeBuffer(chunk: Buffer, from: number, to: number): void {
    const { request } = this;
    const { socket } = request.connection;
    const piece = from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to);
    request.bytesSent += piece.length;
    if (this.#borrowed && socket.writableLength > 0) {
      // Something is queued already: this piece will wait for sure.
      const buffer = this.#connection?.keepBuffer();
      if (buffer !== undefined) this.#inFlight.push(buffer);
      socket.write(buffer === undefined ? Buffer.from(piece) : piece);
      return;
    }
    const owned = !this.#borrowed || this.#connection?.hasOwnBuffer === true;
    socket.write(owned ? piece : Buffer.from(piece));
    if (socket.writableLength === 0 || !this.#borrowed) return;
    const buffer = this.#connection?.keepBuffer();
    if (buffer !== undefined) this.#inFlight.push(buffer);
  }

  #writeFiltered(piece: Buffer, last: boolean): void {
    const { request } = this;
    if (this.failed) return;
    const bytes = filterBody(request, this.#borrowed && !last ? Buffer.from(piece) : piece, last);
    this.failed = bytes === undefined;
    if (bytes === undefined || bytes.length === 0) return;
    const head = this.#head;
    this.#head = '';
    if (request.chunked) writeChunk(request, head, bytes, 0, bytes.length, false);
    else {
      request.bytesSent += head.length + bytes.length;
      if (head !== '') request.connection.socket.write(head, 'latin1');
      request.connection.socket.write(bytes);
    }
  }

  #recycle(): void {
    const { connection } = this.request;
    if (connection.socket.writableLength > 0) return;
    for (const buffer of this.#inFlight) connection.context.buffers.give(buffer);
    this.#inFlight.length = 0;
  }
}
