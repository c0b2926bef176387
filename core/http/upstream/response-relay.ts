import { BODY_LENGTH, BODY_NONE, BODY_UNTIL_CLOSE, responseBodyKind, type ResponseHead } from '../../net/http1/response-head.js';
import type { Lender } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { startResponse, writeResponse } from '../response/response.js';
import { BodyFraming, type FramedBody, Progress } from './body-framing.js';
import type { ExchangeRoute } from './exchange-route.js';
import { adoptHead } from './upstream-head.js';
import { ResponseFlow, type ResponseSource } from './response-flow.js';
import type { PeerConnection } from '../../net/peer-connection.js';

/** How far a response has got. */
export const enum Relayed {
  /** More is to come. */
  Open,
  Complete,
  /** The member broke the framing: what is out cannot be completed. */
  Broken,
  /** A header filter failed, and nothing of the response is out. */
  Failed,
}

/** The source of a proxied response: passes what one member sends on to the response path, from its head to its end. */
export class ResponseRelay implements FramedBody {
  readonly #request: Request;
  readonly #route: ExchangeRoute;
  readonly #connection: PeerConnection;
  #kind = BODY_NONE;
  #framing: BodyFraming | undefined = undefined;
  #lender: Lender | undefined = undefined;
  /** Of a body that did not come with its head. */
  flow: ResponseFlow | undefined = undefined;
  #reusable: boolean;

  constructor(
    request: Request,
    route: ExchangeRoute,
    connection: PeerConnection,
    head: ResponseHead,
    private readonly source: ResponseSource,
  ) {
    this.#request = request;
    this.#route = route;
    this.#connection = connection;
    this.#reusable = head.keepAlive && route.plan.version === '1.1';
  }

  /** The end of the connection is the end of the body (RFC 9112, 6.3). */
  get endsWithConnection(): boolean {
    return this.#kind === BODY_UNTIL_CLOSE;
  }

  /** Once complete: the connection may serve another request. */
  get leavesReusable(): boolean {
    return this.#reusable && this.#kind !== BODY_UNTIL_CLOSE;
  }

  /** Passes the head on, with the first part of the body if it is there. */
  start(head: ResponseHead, bytes: Buffer, bodyStart: number, borrowed: boolean): Relayed {
    const request = this.#request;
    const kind = responseBodyKind(request.method, head);
    const { contentLength } = head;
    this.#kind = kind;
    if (!adoptHead(request, this.#route, head)) return Relayed.Failed;
    // A response to HEAD, and a 304, tell the length of a body that does not follow.
    request.response.length = kind === BODY_LENGTH || kind === BODY_NONE ? contentLength : -1;
    if (!startResponse(request)) return Relayed.Failed;
    if (kind === BODY_NONE || (kind === BODY_LENGTH && contentLength === 0)) {
      if (bytes.length > bodyStart) this.#reusable = false;
      return Relayed.Complete;
    }
    if (kind === BODY_LENGTH && bytes.length - bodyStart >= contentLength) {
      const end = bodyStart + contentLength;
      if (bytes.length > end) this.#reusable = false;
      writeResponse(request, bytes, bodyStart, end, borrowed ? this.#connection : undefined);
      return Relayed.Complete;
    }
    return this.#openBody(contentLength, bytes, bodyStart, borrowed);
  }

  /** Passes on what the member sent, from the offset on. */
  relay(chunk: Buffer, from: number, borrowed: boolean): Relayed {
    const framing = this.#framing;
    if (framing === undefined) return Relayed.Open;
    this.#lender = borrowed ? this.#connection : undefined;
    const progress = framing.take(chunk, from);
    if (progress === Progress.Broken) return Relayed.Broken;
    if (progress === Progress.Open) return Relayed.Open;
    if (progress === Progress.Overrun) this.#reusable = false;
    return Relayed.Complete;
  }

  /** From the framing. */
  write(chunk: Buffer, from: number, to: number): void {
    const buffer = this.flow?.buffer;
    if (buffer === undefined) writeResponse(this.#request, chunk, from, to, this.#lender);
    else buffer.write(chunk, from, to, this.#lender);
  }

  #openBody(length: number, bytes: Buffer, bodyStart: number, borrowed: boolean): Relayed {
    this.#connection.wantOwnBuffers();
    this.flow = new ResponseFlow(this.#request, this.#connection, this.#route, this.source);
    this.#framing = new BodyFraming(this.#kind, length, this);
    if (bytes.length > bodyStart) return this.relay(bytes, bodyStart, borrowed);
    this.#request.stream.flush(this.#request);
    return Relayed.Open;
  }
}
