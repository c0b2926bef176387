import type { ClientConnection } from '../../contract/client-connection.js';
import type { ClientStream, RequestListener, RequestOwner, StreamFront, Tunnel } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import type { HttpContext } from '../request/context.js';
import type { Request } from '../request/request.js';

/**
 * A client stream in front of the one that a request came by, of whatever protocol: it holds a part of the response's body back. Calls that
 * do not concern the body go straight to the next stream.
 */
export abstract class FrontStream implements StreamFront {
  /** The previous front. */
  readonly #next: StreamFront | undefined;

  constructor(
    protected readonly inner: ClientStream,
    protected readonly request: Request,
  ) {
    this.#next = request.front;
  }

  abstract readonly isBehind: boolean;
  abstract readonly awaitsDrain: boolean;
  abstract readonly room: number;
  abstract readonly takesLargePieces: boolean;
  /** Something is held back that is still to be sent. */
  protected abstract readonly holds: boolean;
  abstract write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void;
  abstract end(request: Request): void;
  abstract abort(request: Request): void;
  /** Sends of what is held back as much as it may. */
  protected abstract send(): void;
  /** Nothing more is sent. */
  protected abstract release(): void;

  /** The client has consumed what was written. */
  pump(): void {
    this.#next?.pump();
    this.send();
  }

  /** The request is over. */
  stop(): void {
    this.release();
    this.#next?.stop();
  }

  /** Data held back is sent first: until then this is the owner of the request. */
  finish(request: Request): void {
    if (this.holds && !request.finished) request.owner = new UnsentRest(request);
    else this.inner.finish(request);
  }

  watchSending(request: Request): void {
    if (this.inner.awaitsDrain || this.inner.isBehind) this.inner.watchSending(request);
  }

  get client(): ClientConnection {
    return this.inner.client;
  }
  get context(): HttpContext {
    return this.inner.context;
  }
  get listener(): RequestListener {
    return this.inner.listener;
  }
  get protocol(): string | undefined {
    return this.inner.protocol;
  }
  get holdsHead(): boolean {
    return this.inner.holdsHead;
  }
  get bytePath(): ClientStream['bytePath'] {
    return this.inner.bytePath;
  }
  writeInterim(request: Request, status: string, lines: string): void {
    this.inner.writeInterim(request, status, lines);
  }
  writeHead(request: Request): void {
    this.inner.writeHead(request);
  }
  dropHead(request: Request): void {
    this.inner.dropHead(request);
  }
  flush(request: Request): void {
    this.inner.flush(request);
  }
  wantBody(request: Request): void {
    this.inner.wantBody(request);
  }
  resumeBody(request: Request): void {
    this.inner.resumeBody(request);
  }
  pauseBody(request: Request): void {
    this.inner.pauseBody(request);
  }
  openTunnel(request: Request, tunnel: Tunnel): boolean {
    return this.inner.openTunnel(request, tunnel);
  }
  endTunnelOutput(request: Request): void {
    this.inner.endTunnelOutput(request);
  }
  endTunnel(request: Request, isBroken: boolean): void {
    this.inner.endTunnel(request, isBroken);
  }
}

/** Owner of a request whose source has ended: the rest of its response is held back. */
export class UnsentRest implements RequestOwner {
  readonly outlivesClient = false;

  constructor(private readonly request: Request) {}

  abort(): void {
    this.request.context.log.write('info', 'client prematurely closed connection while sending to client', this.request);
  }
  discard(): void {}
  /** The front has sent it. */
  onDrain(): void {}
}
