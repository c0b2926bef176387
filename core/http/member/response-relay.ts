import { findField } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import type { Lender } from '../request/lender.js';
import type { Request } from '../request/request.js';
import { startResponse, writeResponse } from '../response/response.js';
import type { MemberRoute } from './member-route.js';
import type { MemberStream } from './member-stream.js';
import { ResponseFlow, type ResponseSource } from './response-flow.js';
import { adoptHead } from './upstream-head.js';

/** The source of a proxied response: passes what one member sends on to the response path, from its head to its end. */
export class ResponseRelay {
  /** Of a body that did not come with its head. */
  flow: ResponseFlow | undefined = undefined;
  #hasBody = false;

  constructor(
    private readonly request: Request,
    private readonly route: MemberRoute,
    private readonly stream: MemberStream,
    private readonly source: ResponseSource,
  ) {}

  /** Passes the head on. False: a header filter failed, and nothing of the response is out. */
  start(head: ResponseHead, length: number): boolean {
    const { request } = this;
    if (!adoptHead(request, this.route, head)) return false;
    request.response.length = length;
    // A known length leaves no place for them over HTTP/1, unless the member says that there are some.
    if (this.route.plan.passTrailers === true && (length < 0 || findField(head.text, head.fields, head.count, 'trailer') >= 0))
      request.response.hasTrailers = true;
    return startResponse(request);
  }

  write(bytes: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.#hasBody = true;
    if (!this.request.finished) writeResponse(this.request, bytes, from, to, lender);
  }

  /** A read of so many bytes is over, and more is to come. */
  onRead(length: number): void {
    if (this.flow === undefined) {
      this.flow = new ResponseFlow(this.request, this.stream, this.route, this.source);
      if (!this.#hasBody && !this.request.finished) this.request.stream.flush(this.request);
    }
    this.flow.onRead(length);
  }
}
