import { FileSending, type Connection } from '../../../net/transport/connection.js';
import type { ClientStream, Tunnel } from '../../request/client-stream.js';
import type { Lender } from '../../request/lender.js';
import type { HttpContext } from '../../request/context.js';
import type { Request } from '../../request/request.js';
import type { ServedListener, SocketClient } from '../socket-client.js';
import type { Http1Connection } from './http1-connection.js';
import { headText } from './head-text.js';
import { ResponseWriter } from './response-writer.js';
import { TunnelEnd } from './tunnel-end.js';

/** Bytes the socket may hold before the source of a response has to stop. */
const HIGH_WATER = 131_072;

/** The way back to the client of an HTTP/1 connection, for one request after the other. */
export class Http1Stream implements ClientStream {
  readonly takesLargePieces = true;
  readonly room = Infinity;
  readonly protocol = undefined;
  readonly client: SocketClient;
  readonly context: HttpContext;
  readonly listener: ServedListener;
  readonly #socket: Connection;
  readonly #writer: ResponseWriter;

  constructor(private readonly connection: Http1Connection) {
    const { client, context, listener, socket } = connection;
    this.client = client;
    this.context = context;
    this.listener = listener;
    this.#socket = socket;
    this.#writer = new ResponseWriter(socket, context.buffers);
  }

  // The response.

  writeInterim(request: Request, status: string, lines: string): void {
    if (this.connection.request !== request || request.minor === 0) return;
    const head = `HTTP/1.1 ${status}\r\n${lines}\r\n`;
    request.interimBytes += head.length;
    this.#writer.writeText(request, head);
  }

  writeHead(request: Request): void {
    if (request.expectContinue && request.body === undefined && request.status < 400) this.#sendContinue(request);
    const head = headText(request, this.connection.maySurvive(request));
    request.headBytes = head.length;
    this.#writer.hold(head);
  }

  get holdsHead(): boolean {
    return this.#writer.holdsHead;
  }

  get bytePath(): Connection {
    return this.#socket;
  }

  dropHead(request: Request): void {
    this.#writer.dropHead();
    request.headSent = false;
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (this.connection.request === request) this.#writer.write(request, chunk, from, to, lender);
  }

  writeFile(request: Request, file: number, from: number, count: number): boolean {
    return this.connection.request === request && this.#writer.writeFile(request, file, from, count);
  }

  sendFile(request: Request, file: number, from: number, count: number): number {
    return this.connection.request === request ? this.#writer.sendFile(request, file, from, count) : FileSending.NoRoom;
  }

  flush(request: Request): void {
    if (this.connection.request === request) this.#writer.flush(request);
  }

  end(request: Request): void {
    if (this.connection.request === request) this.#writer.end(request);
  }

  get isBehind(): boolean {
    const { writableLength, writableNeedDrain } = this.#socket;
    return writableLength > HIGH_WATER || (writableNeedDrain && this.context.buffers.isScarce);
  }

  get awaitsDrain(): boolean {
    return this.#socket.writableLength > 0 && this.#socket.writableNeedDrain;
  }

  watchSending(request: Request): void {
    this.connection.watchSending(request);
  }

  /** Returns read buffers whose bytes have left. */
  recycle(): void {
    this.#writer.recycle();
  }

  /** The socket is closed. */
  abandon(): void {
    this.#writer.abandon();
  }

  // The request body.

  wantBody(request: Request): void {
    if (request.expectContinue && !request.headSent) this.#sendContinue(request);
  }

  /** Also to a client that sends no body and waits for it all the same, as nginx does. */
  #sendContinue(request: Request): void {
    request.expectContinue = false;
    const received = request.body?.received ?? 0;
    if (request.minor === 1 && received === 0) this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
  }

  resumeBody(request: Request): void {
    this.connection.resumeBody(request);
  }

  pauseBody(request: Request): void {
    this.connection.pauseBody(request);
  }

  // The end.

  finish(request: Request): void {
    this.connection.finish(request);
  }

  abort(request: Request): void {
    this.#writer.flushChunks();
    this.connection.abort(request);
  }

  openTunnel(request: Request, tunnel: Tunnel): boolean {
    this.#writer.flush(request);
    new TunnelEnd(this.#socket, this.connection, tunnel).start(this.connection.leave());
    return true;
  }

  endTunnelOutput(): void {
    this.#socket.end();
  }
  endTunnel(request: Request): void {
    this.connection.endAfter(request);
  }
}
