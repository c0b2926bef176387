import type { ClientConnection } from '../../contract/client-connection.js';
import type { Scope } from '../../contract/http.js';
import type { MemberAttempt } from '../../contract/member-attempt.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { RequestHead } from '../../net/http1/request-head.js';
import type { Generation } from '../../config/generations.js';
import { contentTypeOf } from '../site/content-types.js';
import type { Location } from '../site/location.js';
import type { RequestServer } from '../site/virtual-server.js';
import type { ClientStream, RangeSelection, RequestOwner, ResponseSink, StreamFront } from './client-stream.js';
import { type HttpContext, OwnField } from './context.js';
import { ForwardedClient } from './forwarded-client.js';
import { HeaderList } from './header-list.js';
import type { EndStep } from './log-handlers.js';
import type { ObserverEntry } from './observers.js';
import type { Request } from './request.js';
import type { RequestBody } from './request-body.js';
import { Stage } from './stage.js';
import type { UpstreamFields } from './upstream-fields.js';
import type { UpstreamTrace } from './upstream-trace.js';

/** A response that a handler has chosen instead of the engine's page for a status. */
interface Rejection {
  readonly status: number;
  readonly body: Buffer;
  readonly contentType: string;
}

/**
 * One request of one client as data: what the folders of core/http share. It keeps the head as the text it came in; fields are looked up when
 * they are needed. {@link Request} adds what its handlers do with it.
 */
export class RequestData {
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
  /** When its head was made, epoch milliseconds; 0: it was not. */
  headTime = 0;
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
  /** Bytes of the response's head, and of interim responses. */
  headBytes = 0;
  interimBytes = 0;

  /** The first of the steps of modules for its end: {@link atEnd}. */
  endSteps: EndStep | undefined = undefined;
  /** See {@link HttpRequest.observe}; undefined: there is none. */
  observers: ObserverEntry[] | undefined = undefined;
  /** The steps at its end have their turn, or have had it. */
  isOver = false;
  /** The header filter that is running. */
  filter: unknown = undefined;

  #id = '';
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
    return Math.max(this.bytesSent - this.headBytes - this.interimBytes, 0);
  }

  get elapsed(): number {
    return Math.max(this.context.clock.now - this.startTime, 0);
  }

  get attempts(): readonly MemberAttempt[] {
    return (this.upstreamTrace?.attempts ?? []).filter(({ isAsked }) => isAsked);
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
}
