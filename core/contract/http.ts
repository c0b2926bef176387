/** Contract of the HTTP engine: requests, handlers, phases, scopes, variables. */
import type { ClientConnection } from './client-connection.js';
import type { Explainers, ExplainNotes } from './explain.js';
import type { AttemptHandler, MemberAttempt } from './member-attempt.js';
import type { EngineMemberCall, CallFailure } from './member-call.js';
import type { BlockScope } from './scope.js';
import type { Directives } from './spec.js';
import type { Getter, GetterFamily, EngineTemplate } from './template.js';
import type { Directive } from './tree.js';

/** Result of a handler: the next handler of the phase decides. */
export const DECLINED = -1;
/**
 * Result of a handler: it has responded, or will (`request.send`, `request.respond`, an exchange, a redirect). A response that does not
 * come within `handler_timeout` is a 504.
 */
export const DONE = -2;
/** Result of a handler: this phase is passed (in `access`: allowed). In `content` it is as {@link DONE}. */
export const OK = 0;
/** {@link DECLINED}, {@link DONE}, {@link OK}, or the HTTP status to respond with (the engine makes its error page). */
export type Result = number;

/** The phases of a request in their order. `content` has one owner a location; header and body filters follow the response. */
export const PHASES = ['post_read', 'server_rewrite', 'rewrite', 'preaccess', 'access', 'precontent'] as const;
export type Phase = (typeof PHASES)[number];

export type MemberCall = EngineMemberCall<BodySource>;
type Answer = Result | Promise<Result> | void;

/**
 * Synchronous; a promise only when it really waits: the request is parked until then, for `handler_timeout` at most. An exception, or a
 * value that is not a {@link Result}, is logged with the name of the module, and the response is a 500.
 */
export type Handler = (request: HttpRequest) => Result | Promise<Result>;

/** Handlers of a module in one scope. Everything is optional; an absent part costs nothing. */
export interface HttpHandlers extends Partial<Record<Phase, Handler>> {
  /** Makes the response of the location. Two modules that claim one location are a configuration error. */
  content?: Handler;
  /**
   * Opens the tunnel of a CONNECT request (RFC 9110, 9.3.6), after the phases up to precontent: of a server, or else of its location of the
   * path `/`; never of a named location. Without such a handler CONNECT is a 405.
   */
  connect?: Handler;
  /** Makes the response of a location without another content handler, as static files do. The first module that has one decides. */
  defaultContent?: Handler;
  /** The content handler reads the request body with a limit of its own: `client_max_body_size` is not for it. */
  limitsBody?: true;
  /** The content handler passes requests on: in a location `/name/` a request for `/name` is redirected there, as with nginx's proxy_pass. */
  autoRedirect?: true;
  /**
   * The body of an error response that the server makes (4xx, 5xx) where no `error_page` applies; it may set header fields as well. Of a
   * server it is for requests that no location was found for. The first module that has one decides; nothing returned: the server's own.
   */
  error?: (request: HttpRequest, status: number) => ErrorBody | undefined;
  /**
   * Changes status and fields of the response before they are sent, in the order of the manifests. It sees the final Content-Type and
   * Content-Length. To change the body as well it returns a {@link BodyFilter} made for this one response; nothing returned costs nothing.
   */
  header?: (request: HttpRequest) => BodyFilter | undefined | void;
  /**
   * Looks at the response of a member before anything of it is relayed, in the order of the modules. DECLINED, or nothing: it goes on. Any other
   * result, or `response.discard()`, drops the response, and the handler responds in its place, as a content handler does.
   */
  memberResponse?: (request: HttpRequest, response: MemberResponse) => Answer;
  /** The response of a member is dropped, and `X-Accel-Redirect` or an `error_page` leads elsewhere: no module looks at it. */
  memberReplaced?: (request: HttpRequest) => void;
  /** Looks at a request before a member is chosen, in the order of the modules. DECLINED, or nothing: it goes on. Else as a content handler. */
  memberRequest?: (request: HttpRequest, call: MemberCall) => Answer;
  /** Looks at a call that has failed. Results as of `memberRequest`. @param status that the client gets otherwise: 502, 504 */
  memberFailure?: (request: HttpRequest, failure: CallFailure, status: number) => Answer;
  /** Looks at the attempts at members for a request, as they begin and end: for traces and figures. */
  memberAttempt?: AttemptHandler;
  /** As `memberAttempt`, for `end` alone: nothing is called at the events before. */
  memberAttemptEnd?: (request: HttpRequest, attempt: MemberAttempt) => void;
  /** After the response is sent or the client is gone. A promise is not waited for; its rejection is logged. */
  log?: (request: HttpRequest) => void;
  /**
   * Effects of the handlers on a request, without having them, by their names: for `srv explain` and its company. A handler without one is
   * not run by them; they say that its effect is unknown.
   */
  explain?: Explainers;
}

/**
 * Looks at single requests, which a handler has chosen ({@link HttpRequest.observe}), whichever locations they come to: for traces. A request without an
 * observer pays nothing for it. Exceptions are logged, and do not affect the request.
 */
export interface RequestObserver {
  /** The handlers before the content have run; once more after an internal redirect. */
  readonly content?: (request: HttpRequest) => void;
  /** Looks at attempts at members, as the handler `memberAttempt` of a location. */
  readonly memberAttempt?: AttemptHandler;
  /** The head of its response is complete, and is about to be sent. */
  readonly head?: (request: HttpRequest) => void;
}

/**
 * Changes the body of one response: made by a header filter for this response, ended or destroyed with it. One that neither goes on within
 * `handler_timeout` while the response waits for it (after {@link end}, or after `out.pause()`) costs it a 500, or cuts it off.
 */
export interface BodyFilter {
  /** Bytes of the body when it has passed, if the filter knows that: the Content-Length. Without it the length is unknown. */
  readonly length?: number;
  /** False: pieces are valid during {@link write} only and are not copied for the filter, which must neither retain them nor pass them on. */
  readonly retains?: boolean;
  /** Gets a piece of the body, which the filter may retain. It writes its output to `out`, now or later. */
  write(piece: Buffer, out: BodyOutput): void;
  /** The body is complete. The filter writes what it still holds and calls `out.end()`, now or later. */
  end(out: BodyOutput): void;
  /** The client has caught up after `out.write()` returned false. */
  drain?(out: BodyOutput): void;
  /** The response was given up before it ended: releases what the filter holds. Nothing may be written any more. */
  destroy?(): void;
}

/**
 * Failure of a body filter because the body differs from the response's description: it is not a failure of the module, and is logged as an
 * error.
 */
export class MalformedBody extends Error {}

/** Where a body filter writes to. Calls after the response was given up have no effect. */
export interface BodyOutput {
  /** Passes bytes on, which must not be changed any more. False: the client is slow, and a filter that makes much out of little should wait for `drain`. */
  write(piece: Uint8Array): boolean;
  /** The body is complete. */
  end(): void;
  /** Stops the source, for a filter that has more waiting than it should, until {@link resume}. */
  pause(): void;
  resume(): void;
  /**
   * Gives the response up, for errors outside of a call of the filter: 500 while nothing has been sent, else the connection is closed. Where the
   * body is at fault and not the filter, the error is a {@link MalformedBody}.
   */
  fail(error: unknown): void;
}

/**
 * A body that the engine reads by itself, as fast as the client consumes it: files, blobs of a database. It is read into buffers of the
 * engine's that are used again when the client's socket has sent them. Of ranges of the body only these are read.
 */
export interface BodySource {
  /** Bytes of the whole body; -1: not known, it ends with a read of 0 bytes, and ranges of it are not served. */
  readonly length: number;
  /** The body is still being made: what there is of the response is sent before a read that waits. */
  readonly grows?: boolean;
  /**
   * Descriptor of an open file that has the body: the engine reads, or sends (`sendfile`), what the system has in memory,
   * and the rest in other threads. Below 0, or absent: `read` is called for everything. It is also called where that failed, to report why.
   */
  readonly descriptor?: number;
  /** Where in that file the body begins, in bytes; absent: it is the file. Since api `'1.2'`. */
  readonly descriptorStart?: number;
  /**
   * Reads bytes from `offset` on into `into`, which has room for the requested bytes. Returns the number of bytes, a promise only where it
   * really waits; 0 if there are no more although {@link length} says so: the response is cut off. Exceptions are logged, and cut it off
   * too.
   */
  read(into: Buffer, offset: number): number | Promise<number>;
  /** Called once, when nothing is read any more, whatever became of the response. */
  close(): void;
}

/** The body of a response that is sent in pieces, see {@link HttpRequest.respond}. Calls after its end, or without a client, have no effect. */
export interface ResponseBody {
  /** The client is gone, or the response is over. */
  readonly closed: boolean;
  /** Sends a piece; a string is sent as UTF-8. Bytes must not be changed any more. False: the client is slow, wait for {@link drained}. */
  write(piece: Uint8Array | string): boolean;
  /** Resolves when the client has caught up, at once if it has not fallen behind, and when it disconnects. */
  drained(): Promise<void>;
  /** The response is complete. One without a body (HEAD, 304) may end at once, whatever its length. */
  end(): void;
  /** Cuts the response off: the client sees that it is not complete. */
  abort(): void;
  /** Called once when the client goes away before {@link end}; at once if that has happened. */
  onClose(listener: () => void): void;
  /**
   * Sends everything that `source` gives (a `Readable`, an async generator) as fast as the client consumes it, and ends. An exception of
   * `source` cuts the response off. Returns {@link DONE}.
   */
  pipe(source: AsyncIterable<Uint8Array | string>): Result;
}

/** The response of a member. Valid during the call of a handler; what {@link store} returns remains. */
export interface MemberResponse {
  readonly status: number;
  /** Bytes of the body, -1: not known. */
  readonly length: number;
  /** Fields of that name joined with `, `; undefined: there is none. */
  header(lowerName: string): string | undefined;
  /** All fields as they came. */
  headers(): [name: string, value: string][];
  /**
   * Stores the body while it is relayed: as fast as the member sends it and to its end, also if the client is slow or leaves. Up to the size of
   * the buffers in memory, a longer one in a temporary file.
   */
  store(): StoredResponse;
  /** Drops the response. The body of the request remains, for the handler that responds instead. */
  discard(): void;
}

/** The body of a response that is stored, or being stored. */
export interface StoredResponse {
  /**
   * Reads it from its first byte on, in pieces, at any pace; there may be any number of readers. It throws a {@link MalformedBody} if the
   * response is cut off or the disk fails: the log says so then.
   */
  open(): AsyncIterableIterator<Buffer, undefined>;
  /** To be called once: no further reader follows, and data that all opened ones have passed is freed. */
  release(): void;
}

export interface SubrequestOptions {
  /** Arguments without the question mark. */
  readonly args?: string;
  /** Bytes of the response's body that are retained (default 1 MiB); 0 discards the body. */
  readonly limit?: number;
  /** Default GET. */
  readonly method?: string;
  /** Header fields in place of those of the request with the same names (in any case); undefined removes them. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Its body: all of it, or in pieces, which are read as fast as the location that serves it consumes them. Default: none. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** Its body is that of the request, which is stored for that; `body` has no effect then. */
  readonly passBody?: boolean;
  /** Milliseconds after which it is given up. Default: no limit beside those of its location. */
  readonly timeout?: number;
  /** It continues when the request is over, and when its client is gone: mirrors, updates of a cache. */
  readonly detached?: boolean;
  /** It is for what the request is for: where members get the client's target as it came, they get that for it too. `uri` and `args` are those of the request. */
  readonly sameTarget?: boolean;
}

/** A subrequest whose response has begun. */
export interface OpenSubrequest {
  readonly status: number;
  /** For templates, as that of {@link Subrequest}; {@link HttpRequest.response} has the fields of its response. */
  readonly request: HttpRequest;
  /**
   * The body of its response, for `for await`: its source is as fast as the pieces are consumed. It throws if the response is cut off; leaving
   * the loop ends the subrequest.
   */
  readonly body: AsyncIterableIterator<Buffer, undefined>;
}

/** A subrequest that is over. */
export interface Subrequest {
  readonly status: number;
  /** Its body, empty if the limit was 0. */
  readonly body: Buffer;
  /** For templates: variables such as `$upstream_http_x` have the subrequest's values. */
  readonly request: HttpRequest;
}

/** The body of an error response and its content type. */
export interface ErrorBody {
  readonly type: string;
  readonly body: string;
}

/** Text with variables, compiled once. */
export type Template = EngineTemplate<HttpRequest>;
/** A named value of a request, see {@link Getter}. */
export type VariableGetter = Getter<HttpRequest>;
/** The getter of a family of variables, see {@link GetterFamily}. */
export type VariablePrefix = GetterFamily<HttpRequest>;

/**
 * Header fields of the response, in order, names in the case they were given. The engine sets the fields that frame the message: `set` and
 * `append` of Content-Length, Transfer-Encoding, Connection, Keep-Alive and Date have no effect.
 */
export interface ResponseHeaders {
  /**
   * Of a response with status 200 and a known length the client may get the ranges it asks for (Range, If-Range, `max_ranges`) instead of the
   * whole. False unless the source of the response says so; `remove('Accept-Ranges')` makes it false again.
   */
  allowsRanges: boolean;
  /** First value, or undefined. `name` in any case. */
  get(name: string): string | undefined;
  /**
   * All fields, one for each line, in the order in which they are sent; without the fields that frame the message. They are parsed for it: that costs more than
   * {@link get}. Not to be changed meanwhile.
   */
  entries(): Iterable<readonly [name: string, value: string]>;
  /** Replaces all fields of that name by one. */
  set(name: string, value: string): void;
  /** Adds one field line after the existing ones. */
  append(name: string, value: string): void;
  remove(name: string): void;
  /** Adds a field after the body, which is sent in chunks over HTTP/1.1. @param value called when the body has ended; empty: no such field */
  appendTrailer(name: string, value: () => string): void;
}

/** Fields of the request that an upstream gets, where they differ from those of the client and of the configuration. */
export interface UpstreamHeaders {
  /** Replaces all fields of that name by one. No effect on fields that frame the message, such as Content-Length and Connection. */
  set(name: string, value: string): void;
  /** The upstream gets no field of that name. */
  remove(name: string): void;
}

/**
 * One request of a client. Valid until its log phase is over. For a handler that is still at work then, because the client has left or
 * `handler_timeout` is over, {@link send}, {@link redirect} and the like do nothing, and {@link respond} gives a body that is closed.
 */
export interface HttpRequest {
  readonly connection: ClientConnection;
  readonly method: string;
  /** Path, decoded and normalised, without arguments; an internal redirect changes it (`$uri`). */
  readonly uri: string;
  /** Arguments without the question mark (`$args`). */
  readonly args: string;
  /** The request target as the client sent it (`$request_uri`). */
  readonly requestUri: string;
  /** `HTTP/1.0`, `HTTP/1.1`, `HTTP/2.0`. */
  readonly protocol: string;
  /** Host of the request line or the Host header, lower case, without port; else the server's name (`$host`). */
  readonly host: string;
  /** Milliseconds of the shared coarse clock when the head was complete. */
  readonly startTime: number;
  /** Milliseconds since {@link startTime}, to the moment at which this turn of work began; in `log` handlers to the end of the request. */
  readonly elapsed: number;
  /** When the head of its response was made, epoch milliseconds; 0: it was not. */
  readonly headTime: number;
  /** Attempts at members for it so far. For listings, not for the hot path. */
  readonly attempts: readonly MemberAttempt[];
  /** 32 hexadecimal digits, made when first asked for (`$request_id`). */
  readonly requestId: string;
  /**
   * The client uses this server as its proxy: CONNECT, or a URI with a host, where the server opens tunnels. Its credentials are those of
   * Proxy-Authorization then (RFC 9110, 11.7).
   */
  readonly isForProxy: boolean;
  /** The request that made this one as a {@link subrequest}; undefined: a client did. */
  readonly parent: HttpRequest | undefined;
  /** Defined for a request that is only explained: computing its variables must have no effect. */
  readonly explanation: ExplainNotes | undefined;
  /** True after an internal redirect or error page, and for subrequests. */
  readonly internal: boolean;
  /** Captures of the last regular expression that matched: `$1`, `$name`. A module that matches one sets it. */
  captures: RegExpExecArray | undefined;
  /** Status of the response; a header filter may change it. */
  status: number;
  readonly response: ResponseHeaders;
  /** Changes what a proxied request sends to its upstream. For handlers before `content`, and for `begin` of `memberAttempt`: of that attempt on. */
  readonly upstream: UpstreamHeaders;
  /** Aborted when the client is gone or `handler_timeout` is over: for what a handler waits for, as in `fetch(url, { signal: request.signal })`. */
  readonly signal: AbortSignal;
  /** The location it is in, or the server before one is chosen. `scope.directive` identifies it. */
  readonly scope: Scope;
  /** Content type of a response that has none of its own: by the extension of the path (types), else default_type. */
  readonly defaultType: string;
  /** Bytes of the request that have been received: head and body (`$request_length`). */
  readonly bytesReceived: number;
  /** Bytes sent to the client: all, and without the head. */
  readonly bytesSent: number;
  readonly bodyBytesSent: number;
  /** First header field of that name, in lower case; several `Cookie` fields are joined with `; `, other ones with `, `. */
  header(lowerName: string): string | undefined;
  /** All header fields as they came, name and value. For listings, not for the hot path. */
  headers(): [name: string, value: string][];
  /** The request has a body, or one in chunks follows that may be empty. */
  readonly hasBody: boolean;
  /** Trailer fields (RFC 9110, 6.5) as they came: empty before the body is complete, as after {@link readBody}, and where there are none. */
  trailers(): [name: string, value: string][];
  /** Value of a variable by its name without the dollar. */
  variable(name: string): string | undefined;
  /**
   * The whole request body. When it is longer than `limit` bytes it rejects with an ApiError, which is a 413 if the handler does not catch it.
   * Others may read the body after that as well: proxy_pass sends it on.
   */
  readBody(limit: number): Promise<Buffer>;
  /**
   * The request body in pieces, for `for await`: the client sends as fast as they are consumed. It throws as {@link readBody} does, and the
   * body cannot be read again after it.
   */
  streamBody(limit: number): AsyncIterableIterator<Buffer, undefined>;
  /**
   * Stores the whole body, in memory or in a file as `client_body_buffer_size` says, for all who read it later: variables, subrequests, members.
   * Undefined: it is stored, or there is none. It rejects as {@link readBody} does.
   */
  storeBody(): Promise<void> | undefined;
  /** Sends a complete response with the fields of {@link response}. A string is sent as UTF-8; values of templates are bytes (latin1). Returns {@link DONE}. */
  send(status: number, body: string | Uint8Array, contentType?: string): Result;
  /**
   * The result of a handler that rejects the request with a body of its own, as `return request.reject(401, 'log in first')`. As with a mere
   * status, another `access` handler may allow the request (`satisfy any`), and an `error_page` for the status takes the place of the body.
   * @param contentType default `text/plain`
   */
  reject(status: number, body: string | Uint8Array, contentType?: string): Result;
  /**
   * Starts a response whose body follows in pieces: server-sent events, generated files. The handler returns {@link DONE} after that.
   * @param length bytes of the body, if known: the Content-Length
   * @throws Error if a response was started already
   */
  respond(status: number, contentType?: string, length?: number): ResponseBody;
  /**
   * Sends a response whose body is read from `source`, piece by piece as the client consumes it. Returns {@link DONE}.
   * @throws Error if a response was started already
   */
  sendFrom(status: number, source: BodySource, contentType?: string): Result;
  /**
   * Makes a request to this server on behalf of this one: the same client and fields, another URI, and what the options say. It goes through the
   * phases from server_rewrite on, but not through `access`, may reach `internal` locations, and is not in the access log without `log_subrequest`. Nested at most 50 deep.
   * Resolves when its response is complete, whatever its status; rejects when the client is gone or its body is longer than `limit`.
   */
  subrequest(uri: string, options?: SubrequestOptions): Promise<Subrequest>;
  /** As {@link subrequest}, but resolves when the response begins: its body is read in pieces, and `limit` has no effect. */
  openSubrequest(uri: string, options?: SubrequestOptions): Promise<OpenSubrequest>;
  /** Starts again at location selection with another URI (at most 10 times). Returns {@link DONE}. */
  redirect(uri: string, args?: string): Result;
  /** Continues in the named location `@name`. Returns {@link DONE}. */
  redirectNamed(name: string): Result;
  /**
   * Makes the request wait: the next handler runs after `ms` milliseconds, unless the client leaves before. For handlers before `content`,
   * which return its result.
   */
  delay(ms: number): Result;
  /** Calls `step` once when the request is over, whatever became of it, at once if it is over already: to release what it holds. */
  atEnd(step: (request: HttpRequest) => void): void;
  /** Calls an observer from now on, beside other ones. For handlers before `content`. */
  observe(observer: RequestObserver): void;
  /** Gives a variable that the configuration defines (`set`, a named group) its value for this request; `args` changes the arguments. */
  assign(variable: string, value: string): void;
  /** Changes path and arguments; the location stays until {@link relocate}. Nothing of the client's target is passed on any more. */
  rewrite(uri: string, args: string): void;
  /** Chooses the location by the path, as after a rewrite (at most 10 times). Returns {@link DONE}. */
  relocate(): Result;
  /**
   * Continues with the settings and handlers of an `if` block of the location: those of the modules after this one in the phase `rewrite`,
   * and of the phases after it. For the module that has the directive, in this phase.
   */
  enterBlock(block: Directive): void;
  /** Another client than the one that is connected, for this request and those it is redirected to: for access rules, logs and variables. */
  setClientAddress(address: string, port: number): void;
  /** A module's own state of this request. `key` is any object of the module, by identity. */
  get(key: object): unknown;
  set(key: object, value: unknown): void;
}

/** Where a module is asked to compile: one server, location or `if`, with its typed configuration. */
export interface Scope<D extends Directives = Directives> extends BlockScope<D, HttpScopeKind, HttpRequest> {
  readonly parent: Scope | undefined;
  /**
   * The scope of an `if` or `limit_except` block that is in this one. A location compiles those in it by itself; one in a server has
   * settings to read and no handlers.
   */
  inner(block: Directive): Scope<D>;
}
export type HttpScopeKind = 'http' | 'server' | 'location' | 'if' | 'limit_except';

/** For modules that only care about locations: every request is handled in one. */
export type LocationScope<D extends Directives = Directives> = Scope<D>;

/** True for the responses that header directives without `always` apply to (add_header). */
export function isSuccess(status: number): boolean {
  return (
    status === 200 ||
    status === 201 ||
    status === 204 ||
    status === 206 ||
    (status >= 301 && status <= 304) ||
    status === 307 ||
    status === 308
  );
}
