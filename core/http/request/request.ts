import { inspect } from 'node:util';
import type { ClientConnection } from '../../contract/client-connection.js';
import {
  type BodySource,
  DONE,
  type HttpRequest,
  type OpenSubrequest,
  type ResponseBody,
  type Result,
  type Scope,
  type Subrequest,
  type SubrequestOptions,
  type UpstreamHeaders,
} from '../../contract/http.js';
import type { ExplainNotes } from '../../contract/explain.js';
import type { Directive } from '../../contract/tree.js';
import { sizeOf } from '../../contract/args.js';
import { byteText } from '../../contract/message-text.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { RequestHead } from '../../net/http1/request-head.js';
import { PLAIN_NAME } from '../../net/http1/characters.js';
import { fieldName, fieldValue, findField } from '../../net/http1/fields.js';
import { BodyCollector, StoredCollector } from './body-collector.js';
import { BodyStream } from './body-stream.js';
import { BodyTooLarge } from './body-too-large.js';
import { contentTypeOf } from '../site/content-types.js';
import type { ClientStream, RangeSelection, RequestOwner, ResponseSink, StreamFront } from './client-stream.js';
import { type HttpContext, OwnField } from './context.js';
import type { Generation } from '../../config/generations.js';
import { ForwardedClient } from './forwarded-client.js';
import { presentHandler } from './handler-failure.js';
import { HeaderList } from './header-list.js';
import type { Location } from '../site/location.js';
import { type EndStep, runLast } from './log-handlers.js';
import type { UpstreamTrace } from './upstream-trace.js';
import type { RequestBody } from './request-body.js';
import { storeBody, StoredPromise } from './stored-body.js';
import { Stage } from './stage.js';
import { assertLength, assertStatus, bytesOf } from './response-arguments.js';
import { UpstreamFields } from './upstream-fields.js';
import type { RequestServer } from '../site/virtual-server.js';

/** Longest delay a timer can have, in milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** A response that a handler has chosen instead of the engine's page for a status. */
interface Rejection {
  readonly status: number;
  readonly body: Buffer;
  readonly contentType: string;
}

/**
 * One request of one client. It keeps the head as the text it came in; fields are looked up when they are needed. All parts of core/http
 * share its members; modules see {@link HttpRequest}.
 */
export class Request implements HttpRequest {
  /** The way to the client: that which the request came by, or one in front of it. */
  stream: ClientStream;
  /** That one, where something in front holds the response back: limit_rate, a slow client. */
  front: StreamFront | undefined = undefined;
  /** Bytes a second that the response is sent with, where limit_rate does not say it; 0: no limit. */
  limitRate: number | undefined = undefined;
  readonly protocol: string;
  /** The head as it came; HTTP/2 streams write theirs in the form of HTTP/1. */
  readonly text: string;
  /** Bytes of the head as it came. */
  readonly headLength: number;
  /** Options with which the head was parsed, for parsing it again. */
  readonly headLimits: HeadLimits;
  readonly startTime: number;
  method: string;
  requestUri: string;
  readonly minor: number;
  uri = '';
  args = '';
  host = '';
  server: RequestServer;
  location: Location;
  /** The location around, while {@link location} is an `if` block of it. */
  wholeLocation: Location | undefined = undefined;
  /** An `if` block before the last one had content of its own, which the last one has not. */
  contentIsLost = false;
  /** Values of variables of the configuration from `set` and named groups. */
  assigned: Map<string, string> | undefined = undefined;
  /** Path and arguments were rewritten where it is now: what proxy_pass replaces is not there any more. */
  rewritten = false;
  body: RequestBody | undefined = undefined;
  contentLength: number;
  expectContinue: boolean;
  upgrade: boolean;
  isForProxy = false;
  /** The client's connection, or stream, leaves HTTP with the response. */
  opensTunnel = false;

  stage: Stage = Stage.Server;
  cursor = 0;
  /** Access phase under `satisfy any`: the status to respond with if no handler allows. */
  refusal = 0;
  redirects = 0;
  /** How often the location was chosen again after a rewrite. */
  relocations = 0;
  #captures: RegExpExecArray | undefined = undefined;
  internal = false;
  /** The request that made this one; undefined: a client did. */
  parent: Request | undefined = undefined;
  /** An internal redirect gave it another URI: the target the client sent is of no use any more. */
  uriChanged = false;
  owner: RequestOwner | undefined = undefined;
  /** Trace of this request at its upstream; stays for the log. */
  upstreamTrace: UpstreamTrace | undefined = undefined;
  /** Fields that handlers have changed for the upstream. */
  upstreamFields: UpstreamFields | undefined = undefined;

  /** Its head was rejected, or did not get whole: of it there is the request line alone, if that is sound. */
  rejected = false;
  /** First line of something that was no request. */
  rejectedLine = '';
  /** The whole response is sent (`$request_completion`). */
  completed = false;

  status = 0;
  /** Status that an error page keeps (error_page without `=`); 0: the page's own. */
  errorStatus = 0;
  /** Body of a response that a handler has rejected the request with, see {@link reject}. */
  rejection: Rejection | undefined = undefined;
  /** The status whose error page is being made; error pages do not nest. */
  inErrorPage = false;
  readonly response = new HeaderList();
  keepAlive: boolean;
  headSent = false;
  /** A filter has failed: its 500 goes through none. */
  unfiltered = false;
  /** Status and reason as the upstream gave them; empty for the engine's own. */
  statusLine = '';
  /** Fields of {@link OwnField} that the engine adds: not the ones passed on from an upstream. */
  ownFields: number = OwnField.All;
  /** Body filters of this response; undefined: its body goes to the client as it is. */
  filters: ResponseSink | undefined = undefined;
  /** The ranges of the body that are sent; undefined: all of it. */
  ranges: RangeSelection | undefined = undefined;
  /** None of the ranges that the client asks for can be sent: the response is a 416. */
  isUnsatisfiable = false;
  /** The response has a body that goes to the client: not for HEAD, 204, 304. */
  sendsBody = true;
  /** Content type of a response that was replaced by another one (X-Accel-Redirect), which has it unless it has its own. */
  keptType: string | undefined = undefined;
  /** Content-Length as it was sent, -1: none was. */
  sentLength = -1;
  /** The response's body is sent in chunks. */
  chunked = false;
  finished = false;
  bytesSent = 0;
  /** Bytes of the response's head. */
  headBytes = 0;

  /** Steps of modules for its end: {@link atEnd}. */
  endSteps: EndStep[] | undefined = undefined;
  /** The steps at its end have their turn, or have had it. */
  isOver = false;
  /** The header filter that is running. */
  filter: unknown = undefined;

  #id = '';
  #abort: AbortController | undefined = undefined;
  /** Its handlers had no more time, and it got another response than theirs. */
  #timedOut = false;
  #state: Map<object, unknown> | undefined = undefined;
  #client: ClientConnection | undefined = undefined;

  /** The configuration it began under: what that holds open stays until the log phase is over. */
  readonly generation: Generation;

  /** @param head as it was just parsed: nothing of it is retained but its text */
  constructor(stream: ClientStream, server: RequestServer, head: RequestHead) {
    this.stream = stream;
    this.protocol = stream.protocol ?? (head.minor === 1 ? 'HTTP/1.1' : 'HTTP/1.0');
    this.generation = stream.context.generations.enter();
    this.text = head.text;
    this.headLength = head.receivedLength || head.text.length;
    this.headLimits = server.settings.headLimits;
    this.startTime = stream.context.clock.now;
    this.method = head.method;
    this.requestUri = head.text.slice(head.targetStart, head.targetEnd);
    this.minor = head.minor;
    this.contentLength = head.contentLength;
    this.expectContinue = head.expectContinue;
    this.upgrade = head.upgrade;
    this.keepAlive = head.keepAlive;
    this.server = server;
    this.location = server.fallback;
  }

  /** See {@link HttpRequest.explanation}: the traffic's requests have none. */
  get explanation(): ExplainNotes | undefined {
    return undefined;
  }

  get connection(): ClientConnection {
    return this.#client ?? this.stream.client;
  }

  setClientAddress(address: string, port: number): void {
    this.#client = new ForwardedClient(this.stream.client, address, port);
  }

  get context(): HttpContext {
    return this.stream.context;
  }

  /** The parsed fields, parsed again if another request used the scratch meanwhile. Valid until the next one is asked for. */
  get head(): RequestHead {
    return this.stream.context.headOf(this);
  }

  /** As they were sent: with the lengths of chunks, as nginx counts. */
  get bodyBytesSent(): number {
    return Math.max(this.bytesSent - this.headBytes, 0);
  }

  get scope(): Scope {
    return this.location.scope;
  }

  get captures(): RegExpExecArray | undefined {
    return this.#captures;
  }

  /** Named groups that took part become variables, and stay when another expression matches. */
  set captures(captures: RegExpExecArray | undefined) {
    this.#captures = captures;
    const groups = captures?.groups;
    if (groups === undefined) return;
    this.assigned ??= new Map();
    for (const name of Object.keys(groups)) {
      const value = groups[name];
      if (value !== undefined) this.assigned.set(name, value);
    }
  }

  get defaultType(): string {
    if (this.keptType !== undefined) return this.keptType;
    const { settings } = this.location;
    return contentTypeOf(this.uri, settings.contentTypes) ?? settings.defaultType;
  }

  /** The request line as it came (`$request`). */
  get requestLine(): string {
    if (this.text === '') return this.rejectedLine;
    const line = this.text.slice(0, this.text.indexOf('\r\n'));
    return this.stream.protocol === undefined ? line : line.replace(/HTTP\/1\.1$/, this.protocol);
  }

  /** For the error log. */
  get upstreamUrl(): string | undefined {
    return this.upstreamTrace?.url;
  }

  get requestId(): string {
    if (this.#id === '') this.#id = process.getBuiltinModule('node:crypto').randomBytes(16).toString('hex');
    return this.#id;
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
    const { head } = this;
    const { text, fields, count } = head;
    // RFC 9112, 3.2.2: a host in the request target counts, and the field is ignored.
    if (lowerName === 'host' && head.hostStart >= 0) return text.slice(head.hostStart, head.hostEnd);
    const first = findField(text, fields, count, lowerName);
    if (first < 0) return undefined;
    let value = fieldValue(text, fields, first);
    const separator = lowerName === 'cookie' ? '; ' : ', ';
    for (let at = first; (at = findField(text, fields, count, lowerName, at + 1)) >= 0;) value += separator + fieldValue(text, fields, at);
    return value;
  }

  /**
   * As {@link header}, for `$http_*`: where the server accepts names with underscores, one of a field stands for a hyphen, too (as in nginx).
   */
  headerVariable(lowerName: string): string | undefined {
    const { head, headLimits } = this;
    if (headLimits.names === undefined || headLimits.names === PLAIN_NAME || !lowerName.includes('-')) return this.header(lowerName);
    const { text, fields, count } = head;
    const values: string[] = [];
    for (let at = 0; at < count; at++)
      if (fieldName(text, fields, at).toLowerCase().replaceAll('_', '-') === lowerName) values.push(fieldValue(text, fields, at));
    return values.length > 0 ? values.join(', ') : undefined;
  }

  headers(): [name: string, value: string][] {
    const { text, fields, count } = this.head;
    return Array.from({ length: count }, (_, at) => [fieldName(text, fields, at), fieldValue(text, fields, at)]);
  }

  variable(name: string): string | undefined {
    return this.stream.listener.variables.value(name, this);
  }

  readBody(limit: number): Promise<Buffer> {
    const { body } = this;
    if (body === undefined) return Promise.resolve(Buffer.alloc(0));
    if (this.contentLength > limit) return Promise.reject(this.#tooLarge(limit));
    this.stream.wantBody(this);
    return new Promise((resolve, reject) => {
      const failed = (status: number): void => reject(this.#bodyError(status, limit));
      const store = body.stored?.isWhole === true ? body.stored.store : undefined;
      if (store !== undefined) {
        if (store.length > limit) failed(413);
        else new StoredCollector(store, resolve, failed).start();
        return;
      }
      body.read(new BodyCollector(body, limit, resolve, failed));
      this.stream.resumeBody(this);
    });
  }

  streamBody(limit: number): AsyncIterableIterator<Buffer, undefined> {
    return new BodyStream(this, limit);
  }

  storeBody(): Promise<void> | undefined {
    const { body } = this;
    if (body === undefined || body.stored?.isWhole === true) return undefined;
    const waiter = new StoredPromise((status) => this.#bodyError(status, this.location.settings.clientMaxBodySize));
    return storeBody(this, waiter) ? undefined : waiter.promise;
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
    assertLength(source.length);
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
    if (this.isOver) runLast(this, step, handler);
    else (this.endSteps ??= []).push({ step, handler });
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

  #bodyError(status: number, limit: number): Error {
    return status === 413 ? this.#tooLarge(limit) : new Error('request body not complete');
  }

  /** The rest of the body is not worth reading for the sake of the connection. */
  #tooLarge(limit: number): BodyTooLarge {
    this.keepAlive = false;
    return new BodyTooLarge(limit);
  }
}
