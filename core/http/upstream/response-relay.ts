import {
  BODY_CHUNKED,
  BODY_LENGTH,
  BODY_NONE,
  BODY_UNTIL_CLOSE,
  responseBodyKind,
  type ResponseHead,
} from '../../net/http1/response-head.js';
import { AnswerBody } from '../response/response-body.js';
import { makeHead, writeHeadAndBody, writeText } from '../response/response.js';
import { BodyFraming, Progress } from './body-framing.js';
import type { ExchangeRoute } from './exchange-route.js';
import type { Request } from '../request/request.js';
import { adoptHead } from './upstream-head.js';
import type { UpstreamConnection } from './upstream-connection.js';

/** How far an answer has got. */
export const enum Relayed {
  /** More is to come. */
  Open,
  Complete,
  /** The member broke the framing: what is out cannot be completed. */
  Broken,
  /** A filter failed, and nothing of the answer is out. */
  FailedUnsent,
  /** A filter failed when a part was out. */
  FailedSent,
}

/** Passes one answer of a member on to the client, from its head to its end. */
export class AnswerRelay {
  readonly #request: Request;
  readonly #route: ExchangeRoute;
  readonly #connection: UpstreamConnection;
  #kind = BODY_NONE;
  #framing: BodyFraming | undefined = undefined;
  #body: AnswerBody | undefined = undefined;
  #reusable: boolean;

  constructor(request: Request, route: ExchangeRoute, connection: UpstreamConnection, head: ResponseHead) {
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

  /** The client is slower than the member. */
  get isBehind(): boolean {
    return this.#body?.isBehind === true;
  }

  /** Passes the head on, with the first part of the body if it is there. */
  start(head: ResponseHead, bytes: Buffer, bodyStart: number, borrowed: boolean): Relayed {
    const request = this.#request;
    const adopted = adoptHead(request, this.#route, head);
    const kind = responseBodyKind(request.method, head);
    this.#kind = kind;
    const filtered = request.location.bodyFilters.length > 0;
    const length = filtered || kind === BODY_CHUNKED || kind === BODY_UNTIL_CLOSE ? -1 : head.contentLength;
    const text = adopted ? makeHead(request, length) : '';
    if (text === '') return Relayed.FailedUnsent;
    if (kind === BODY_NONE || (kind === BODY_LENGTH && head.contentLength === 0)) {
      if (bytes.length > bodyStart) this.#reusable = false;
      writeText(request, text);
      return Relayed.Complete;
    }
    if (kind === BODY_LENGTH && !filtered && bytes.length - bodyStart >= head.contentLength) {
      const end = bodyStart + head.contentLength;
      if (bytes.length > end) this.#reusable = false;
      writeHeadAndBody(request, text, bytes, bodyStart, end, borrowed);
      return Relayed.Complete;
    }
    return this.#openBody(head, text, bytes, bodyStart, borrowed);
  }

  /** Takes what the member sent, from the offset on. */
  take(chunk: Buffer, from: number, borrowed: boolean): Relayed {
    const body = this.#body;
    const framing = this.#framing;
    if (body === undefined || framing === undefined) return Relayed.Open;
    body.from(this.#connection, borrowed);
    const progress = framing.take(chunk, from);
    if (progress === Progress.Broken) return Relayed.Broken;
    if (progress === Progress.Open) return body.failed ? failureOf(body) : Relayed.Open;
    if (progress === Progress.Overrun) this.#reusable = false;
    return this.end();
  }

  /** The last byte of the body was taken. */
  end(): Relayed {
    const body = this.#body;
    body?.end();
    return body?.failed === true ? failureOf(body) : Relayed.Complete;
  }

  /** The client is gone or cut off. */
  stop(): void {
    this.#body?.stop();
  }

  onClientDrain(): void {
    this.#body?.onClientDrain();
  }

  #openBody(head: ResponseHead, text: string, bytes: Buffer, bodyStart: number, borrowed: boolean): Relayed {
    this.#connection.wantOwnBuffers();
    const body = new AnswerBody(this.#request, text);
    this.#body = body;
    this.#framing = new BodyFraming(this.#kind, head.contentLength, body);
    if (bytes.length > bodyStart) return this.take(bytes, bodyStart, borrowed);
    body.flushHead();
    return Relayed.Open;
  }
}

function failureOf(body: AnswerBody): Relayed {
  return body.isUnsent ? Relayed.FailedUnsent : Relayed.FailedSent;
}
