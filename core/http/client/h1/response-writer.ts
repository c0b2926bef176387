import { FileSending, type Connection } from '../../../net/transport/connection.js';
import { CHUNK_END, encodeChunkHead, LAST_CHUNK, LAST_CHUNK_HEAD } from '../../../net/http1/chunked.js';
import type { ReadBuffers } from '../../../net/buffers.js';
import type { Lender } from '../../request/lender.js';
import type { Request } from '../../request/request.js';
import { takeTrailers } from '../../response/trailers.js';

/** Up to here head and body leave as one string: it is copied once, by the system call's own buffer. */
const JOINED_LIMIT = 16_384;

/**
 * Writes responses to the socket of an HTTP/1 connection. The head waits for the first bytes of the body, so that a small response leaves in
 * one write; large pieces go out as the buffers they were read into. Small chunks wait until the end of the current tick, so that the last one
 * leaves together with the end of the body.
 */
export class ResponseWriter {
  #head = '';
  /** Chunks of this tick, after their head. */
  #chunks = '';
  /** Read buffers that the socket still needs. */
  readonly #inFlight: Buffer[] = [];

  constructor(
    private readonly socket: Connection,
    private readonly buffers: ReadBuffers,
  ) {}

  get holdsHead(): boolean {
    return this.#head !== '';
  }

  hold(head: string): void {
    this.#head = head;
  }

  dropHead(): void {
    this.#head = '';
  }

  flush(request: Request): void {
    this.flushChunks();
    if (this.#head === '') return;
    const head = this.#head;
    this.#head = '';
    this.writeText(request, head);
  }

  /** @returns false if there were none */
  flushChunks(): boolean {
    if (this.#chunks === '') return false;
    const chunks = this.#chunks;
    this.#chunks = '';
    this.socket.write(chunks, 'latin1');
    return true;
  }

  /** Text of single bytes (latin1). */
  writeText(request: Request, text: string): void {
    request.bytesSent += text.length;
    this.socket.write(text, 'latin1');
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (request.chunked) {
      this.#writeChunk(request, chunk, from, to, lender);
      return;
    }
    const head = this.#head;
    if (head !== '' && head.length + to - from <= JOINED_LIMIT) {
      this.#head = '';
      this.#writeBoth(request, head, chunk, from, to);
      return;
    }
    this.flush(request);
    this.#writePiece(request, chunk, from, to, lender);
  }

  /** A head with its whole body, which nearly all responses are. */
  #writeBoth(request: Request, head: string, chunk: Buffer, from: number, to: number): void {
    if (this.socket.writeBoth === undefined) {
      this.writeText(request, head + chunk.latin1Slice(from, to));
      return;
    }
    request.bytesSent += head.length + to - from;
    this.socket.writeBoth(head, chunk, from, to);
  }

  writeFile(request: Request, file: number, from: number, count: number): boolean {
    const head = this.#head;
    if (head === '' || request.chunked || head.length + count > JOINED_LIMIT) return false;
    if (this.socket.writeFile?.(head, file, from, count) !== true) return false;
    this.#head = '';
    request.bytesSent += head.length + count;
    return true;
  }

  sendFile(request: Request, file: number, from: number, count: number): number {
    const { socket } = this;
    if (socket.sendFile === undefined || request.chunked) return FileSending.Impossible;
    this.flush(request);
    const sent = socket.sendFile(file, from, count);
    if (sent > 0) request.bytesSent += sent;
    return sent;
  }

  end(request: Request): void {
    if (request.chunked && request.sendsBody) {
      const trailers = takeTrailers(request);
      const end = trailers === '' ? LAST_CHUNK : `${LAST_CHUNK_HEAD}${trailers}\r\n`;
      request.bytesSent += this.#head.length + end.length;
      const text = this.#chunks + this.#head + end;
      this.#chunks = this.#head = '';
      this.socket.write(text, 'latin1');
    } else this.flush(request);
    this.recycle();
  }

  /** Returns read buffers whose bytes have left. */
  recycle(): void {
    if (this.#inFlight.length === 0 || this.socket.writableLength > 0) return;
    for (const buffer of this.#inFlight) this.buffers.give(buffer);
    this.#inFlight.length = 0;
  }

  /** The client is gone or cut off. */
  abandon(): void {
    this.#chunks = this.#head = '';
    for (const buffer of this.#inFlight) this.buffers.lose(buffer);
    this.#inFlight.length = 0;
  }

  #writeChunk(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const { socket } = this;
    const head = `${this.#head}${encodeChunkHead(to - from)}`;
    this.#head = '';
    request.bytesSent += head.length + to - from + CHUNK_END.length;
    if (head.length + to - from < JOINED_LIMIT) {
      this.#holdChunk(request, head + chunk.latin1Slice(from, to) + CHUNK_END);
      return;
    }
    this.flushChunks();
    const body = chunk.subarray(from, to);
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(lender === undefined ? body : Buffer.from(body));
    socket.write(CHUNK_END, 'latin1');
    socket.uncork();
  }

  #holdChunk(request: Request, text: string): void {
    if (this.#chunks === '') process.nextTick(endTick, this, request);
    this.#chunks += text;
    if (this.#chunks.length >= JOINED_LIMIT) this.flushChunks();
  }

  /** Passes the very memory on that the bytes were read into, and keeps it from being read into again until it is sent. */
  #writePiece(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const { socket } = this;
    const piece = from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to);
    request.bytesSent += piece.length;
    if (lender === undefined) {
      socket.write(piece);
      return;
    }
    if (socket.writableLength > 0) {
      // Something is queued already: this piece will wait for sure.
      const buffer = lender.keepBuffer();
      if (buffer !== undefined) this.#inFlight.push(buffer);
      socket.write(buffer === undefined ? Buffer.from(piece) : piece);
      return;
    }
    const { hasOwnBuffer } = lender;
    socket.write(hasOwnBuffer ? piece : Buffer.from(piece));
    if (!hasOwnBuffer || socket.writableLength === 0) return;
    const buffer = lender.keepBuffer();
    if (buffer !== undefined) this.#inFlight.push(buffer);
  }
}

function endTick(writer: ResponseWriter, request: Request): void {
  if (writer.flushChunks() && !request.finished && request.stream.awaitsDrain) request.stream.watchSending(request);
}
