import type { ClientConnection } from '../../contract/client-connection.js';
import type { Timed } from '../../net/timers.js';
import type { ClientStream, RequestListener } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import type { HttpContext } from '../request/context.js';
import { runLogHandlers } from '../request/log-handlers.js';
import type { OwnRequest } from '../request/own-request-set.js';
import type { Request } from '../request/request.js';

/** Receives the response of a request that the server makes itself. */
export interface ResponseTaker {
  /** It has as much as it wants for now. */
  readonly isBehind: boolean;
  /** Nothing of the response was passed on to anybody: it may be replaced by another one. */
  readonly holdsHead: boolean;
  /** Status and fields are fixed, and the body follows now or later. */
  onHead(request: Request): void;
  /**
   * @param borrowed the bytes are only valid during the call
   * @returns an error: it wants no more
   */
  onBytes(piece: Buffer, borrowed: boolean): Error | undefined;
  /** Data received so far is dropped. */
  onDropped(): void;
  /** The request is over. @param error the response was not complete */
  onEnd(request: Request, error: Error | undefined): void;
}

/** Properties that a request of the server itself has from the request, or the address, that it is made for. */
export interface RequestOrigin {
  readonly context: HttpContext;
  readonly client: ClientConnection;
  readonly listener: RequestListener;
}

/** The client stream of a request that the server makes itself: a subrequest, or one without any client. */
export class OwnStream implements ClientStream, OwnRequest, Timed {
  deadline = 0;
  began = 0;
  slot = -1;
  readonly context: HttpContext;
  readonly client: ClientConnection;
  readonly listener: RequestListener;
  readonly awaitsDrain = false;
  readonly room = Infinity;
  readonly takesLargePieces = false;
  readonly bytePath = undefined;
  /** Continues a body that its request has paused. */
  onBodyWanted: (() => void) | undefined = undefined;
  bodyIsPaused = false;
  #request: Request | undefined = undefined;

  constructor(
    { context, client, listener }: RequestOrigin,
    readonly protocol: string,
    private readonly taker: ResponseTaker,
  ) {
    this.context = context;
    this.client = client;
    this.listener = listener;
  }

  /** @param timeout milliseconds that the request may take; 0: any number */
  begin(request: Request, timeout: number): void {
    this.#request = request;
    this.began = this.context.clock.now;
    this.context.ownRequests.add(this);
    if (timeout > 0) this.context.timers.arm(this, timeout);
  }

  onDeadline(): void {
    this.cancel(new Error('timed out (110: Connection timed out)'));
  }

  /** The response is not needed any more. */
  cancel(error?: Error): void {
    const request = this.#request;
    if (request === undefined || request.finished) return;
    request.owner?.abort();
    if (!request.finished) this.#end(request, error ?? cutOff(request));
  }

  get isBehind(): boolean {
    return this.taker.isBehind;
  }

  get holdsHead(): boolean {
    return this.#request?.headSent === true && !this.#request.finished && this.taker.holdsHead;
  }

  dropHead(request: Request): void {
    this.taker.onDropped();
    request.headSent = false;
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (request.finished) return;
    this.taker.onHead(request);
    const error = this.taker.onBytes(chunk.subarray(from, to), lender !== undefined);
    if (error === undefined) return;
    request.owner?.discard();
    this.#end(request, error);
  }

  flush(request: Request): void {
    if (!request.finished) this.taker.onHead(request);
  }

  end(request: Request): void {
    this.flush(request);
  }

  finish(request: Request): void {
    if (request.finished) return;
    request.completed = true;
    this.#end(request, undefined);
  }

  abort(request: Request): void {
    if (!request.finished) this.#end(request, cutOff(request));
  }

  resumeBody(): void {
    this.bodyIsPaused = false;
    this.onBodyWanted?.();
  }

  pauseBody(): void {
    this.bodyIsPaused = true;
  }

  openTunnel(): boolean {
    return false;
  }
  writeInterim(): void {}
  writeHead(): void {}
  watchSending(): void {}
  wantBody(): void {}
  endTunnelOutput(): void {}
  endTunnel(): void {}

  #end(request: Request, error: Error | undefined): void {
    this.context.timers.forget(this);
    this.context.ownRequests.delete(this);
    request.finished = true;
    request.owner = undefined;
    request.filters?.destroy();
    request.front?.stop();
    runLogHandlers(request);
    request.body?.end();
    this.onBodyWanted?.();
    this.taker.onEnd(request, error);
  }
}

function cutOff(request: Request): Error {
  return new Error(`the response of subrequest "${request.uri}" was cut off`);
}
