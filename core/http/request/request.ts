import { inspect } from 'node:util';
import {
  type BodySource,
  DONE,
  type HttpRequest,
  type OpenSubrequest,
  type RequestObserver,
  type ResponseBody,
  type Result,
  type Subrequest,
  type SubrequestOptions,
  type UpstreamHeaders,
} from '../../contract/http.js';
import type { ExplainNotes } from '../../contract/explain.js';
import type { Directive } from '../../contract/tree.js';
import { sizeOf } from '../../contract/args.js';
import { byteText } from '../../contract/message-text.js';
import { readBody, storeWholeBody } from './body-reading.js';
import { BodyStream } from './body-stream.js';
import { runLast } from '../../run/handler-failure.js';
import type { EndStep } from './log-handlers.js';
import { logFailure, presentHandler } from './handler-failure.js';
import { fieldPairs, headField, headFields, headFieldVariable } from './head-fields.js';
import type { BodyRequest } from './request-body.js';
import { RequestData } from './request-data.js';
import { assertLength, assertStatus, bytesOf } from './response-arguments.js';
import { Stage } from './stage.js';
import { UpstreamFields } from './upstream-fields.js';

/** Longest delay a timer can have, in milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** One request of one client, with what its handlers can do: modules see {@link HttpRequest}. */
export class Request extends RequestData implements HttpRequest, BodyRequest {
  #abort: AbortController | undefined = undefined;
  /** Its handlers had no more time, and it got another response than theirs. */
  #timedOut = false;
  #state: Map<object, unknown> | undefined = undefined;

  /** See {@link HttpRequest.explanation}: the traffic's requests have none. */
  get explanation(): ExplainNotes | undefined {
    return undefined;
  }

  get upstream(): UpstreamHeaders {
    this.upstreamFields ??= new UpstreamFields();
    return this.upstreamFields;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.isGone) this.#abort.abort();
      else this.atEnd(() => void (this.completed || this.#abort?.abort()));
    }
    return this.#abort.signal;
  }

  get bytesReceived(): number {
    return this.headLength + (this.body?.taken ?? 0);
  }

  /** No response of this request's handlers is waited for any more. */
  get isGone(): boolean {
    return this.finished && (this.#timedOut || !this.completed);
  }

  /** Its handlers took longer than handler_timeout. */
  timeOut(): void {
    this.#timedOut = true;
    this.#abort?.abort();
  }

  header(lowerName: string): string | undefined {
    return headField(this.head, lowerName);
  }

  /** As {@link header}, for `$http_*`. */
  headerVariable(lowerName: string): string | undefined {
    return headFieldVariable(this.head, this.headLimits, lowerName);
  }

  headers(): [name: string, value: string][] {
    return headFields(this.head);
  }

  get hasBody(): boolean {
    return this.body !== undefined && this.body.contentLength !== 0;
  }

  trailers(): [name: string, value: string][] {
    return fieldPairs(this.body?.trailers ?? '');
  }

  variable(name: string): string | undefined {
    return this.stream.listener.variables.value(name, this);
  }

  wantBody(): void {
    this.stream.wantBody(this);
  }

  resumeBody(): void {
    this.stream.resumeBody(this);
  }

  pauseBody(): void {
    this.stream.pauseBody(this);
  }

  readBody(limit: number): Promise<Buffer> {
    return readBody(this, limit);
  }

  streamBody(limit: number): AsyncIterableIterator<Buffer, undefined> {
    return new BodyStream(this, limit);
  }

  storeBody(): Promise<void> | undefined {
    return storeWholeBody(this);
  }

  send(status: number, body: string | Uint8Array, contentType?: string): Result {
    assertStatus(status);
    const bytes = bytesOf(body);
    if (this.isGone) return DONE;
    this.#assertNotStarted();
    this.status = status;
    this.context.flow.send(this, bytes, contentType);
    return DONE;
  }

  respond(status: number, contentType?: string, length?: number): ResponseBody {
    assertStatus(status);
    if (length !== undefined) assertLength(length);
    if (this.isGone) return this.context.flow.respond(this);
    this.#assertNotStarted();
    this.status = status;
    this.response.length = length ?? -1;
    if (contentType !== undefined) this.response.set('Content-Type', contentType);
    return this.context.flow.respond(this);
  }

  sendFrom(status: number, source: BodySource, contentType?: string): Result {
    assertStatus(status);
    if (source.length !== -1) assertLength(source.length);
    if (this.isGone) {
      this.context.flow.sendFrom(this, source);
      return DONE;
    }
    this.#assertNotStarted();
    this.status = status;
    if (contentType !== undefined && contentType !== '') this.response.set('Content-Type', contentType);
    this.context.flow.sendFrom(this, source);
    return DONE;
  }

  subrequest(uri: string, options: SubrequestOptions = {}): Promise<Subrequest> {
    return this.context.flow.subrequest(this, byteText(uri), options);
  }

  openSubrequest(uri: string, options: SubrequestOptions = {}): Promise<OpenSubrequest> {
    return this.context.flow.openSubrequest(this, byteText(uri), options);
  }

  reject(status: number, body: string | Uint8Array, contentType = 'text/plain'): Result {
    assertStatus(status);
    this.rejection = { status, body: bytesOf(body), contentType };
    return status;
  }

  redirect(uri: string, args = ''): Result {
    if (typeof uri !== 'string' || !uri.startsWith('/'))
      throw new TypeError(`the URI of a redirect must start with a slash, not ${inspect(uri, { depth: 0 })}`);
    if (this.isGone) return DONE;
    this.#assertNotStarted();
    this.uri = byteText(uri);
    this.args = byteText(args);
    this.uriChanged = true;
    this.context.flow.enterLocation(this);
    return DONE;
  }

  redirectNamed(name: string): Result {
    if (this.isGone) return DONE;
    this.#assertNotStarted();
    this.context.flow.enterNamedLocation(this, name);
    return DONE;
  }

  assign(variable: string, value: string): void {
    if (variable === 'args') {
      this.args = value;
      this.uriChanged = true;
      return;
    }
    if (variable === 'limit_rate') {
      this.limitRate = sizeOf(value);
      if (this.limitRate === undefined) this.context.log.write('error', `invalid $limit_rate "${value}"`, this);
      return;
    }
    this.assigned ??= new Map();
    this.assigned.set(variable, value);
  }

  rewrite(uri: string, args: string): void {
    this.uri = byteText(uri);
    this.args = byteText(args);
    this.uriChanged = true;
    this.rewritten = true;
    this.internal = true;
  }

  relocate(): Result {
    if (this.isGone) return DONE;
    this.context.flow.relocate(this);
    return DONE;
  }

  enterBlock(block: Directive): void {
    this.context.flow.enterBranch(this, block.id);
  }

  /** Responds with a status outside of the phases: something failed while the request waited. */
  fail(status: number): void {
    if (!this.finished) this.context.flow.reject(this, status);
  }

  delay(ms: number): Result {
    if (!(ms >= 0 && ms <= MAX_DELAY_MS)) throw new RangeError(`a delay must be 0 to ${MAX_DELAY_MS} milliseconds, not ${ms}`);
    if (this.isGone) return DONE;
    if (this.stage === Stage.Content || this.finished) throw new TypeError('only a handler of a phase before content can delay a request');
    this.context.flow.delay(this, ms);
    return DONE;
  }

  atEnd(step: (request: HttpRequest) => void): void {
    const handler = presentHandler(this);
    if (this.isOver) runLast(this, step, handler, logFailure);
    else this.#appendStep({ step, handler, next: undefined });
  }

  observe(observer: RequestObserver): void {
    (this.observers ??= []).push({ observer, handler: presentHandler(this) });
  }

  /** There are one or two. */
  #appendStep(added: EndStep): void {
    let last = this.endSteps;
    if (last === undefined) {
      this.endSteps = added;
      return;
    }
    while (last.next !== undefined) last = last.next;
    last.next = added;
  }

  get(key: object): unknown {
    return this.#state?.get(key);
  }

  set(key: object, value: unknown): void {
    this.#state ??= new Map();
    this.#state.set(key, value);
  }

  #assertNotStarted(): void {
    if (this.headSent || this.finished) throw new Error('the response was started already');
  }
}
