/** Requests that are sent on to members of upstreams, and requests of the server to itself. */
import type { ExplainNotes } from './explain.js';
import type { Handler, HttpRequest, OpenSubrequest, Result, Subrequest, SubrequestOptions, Template } from './http.js';
import type { MemberProtocol } from './member.js';
import type { ResponseBuffering } from './response-buffering.js';
import type { UpstreamTls } from './upstream-tls.js';

/** When an attempt at a member counts as failed and the next one is asked (proxy_next_upstream). */
export interface NextUpstream {
  readonly error: boolean;
  readonly timeout: boolean;
  readonly invalidHeader: boolean;
  readonly nonIdempotent: boolean;
  /** Statuses that send the request on: 500, 502, 503, 504, 403, 404, 429. */
  readonly statuses: ReadonlySet<number>;
  /** 0: no limit. */
  readonly tries: number;
  /** Milliseconds; 0: no limit. */
  readonly timeoutMs: number;
}

/**
 * The request target sent to the upstream. `same`: the client's. `replace`: the part of the path that matched the location (its first
 * `length` characters) becomes `by`. `template`: this text.
 */
export type UriPlan =
  | { readonly kind: 'same' }
  | { readonly kind: 'replace'; readonly length: number; readonly by: string }
  | { readonly kind: 'template'; readonly text: Template };

/** How one location talks to its upstream; made once when it is compiled. */
export interface ExchangePlan {
  /** Upstream name or `host:port`; known at compile time if constant. */
  readonly target: Template;
  readonly scheme: 'http' | 'https';
  /** Of the directives of the module: `proxy`, `fastcgi`. Other modules know its calls by it. */
  readonly prefix: string;
  /** In the error log. Default: `scheme`. */
  readonly shownScheme?: string;
  /** For `https`: settings and, by request, the name that the certificate has to be for. */
  readonly tls: UpstreamTls;
  readonly tlsName: Template;
  /** 0: addresses have to have one. */
  readonly defaultPort: number;
  /** The local address of connections (proxy_bind); undefined: the system chooses. */
  readonly bind: Template | undefined;
  /** Connections get SO_KEEPALIVE. */
  readonly socketKeepalive?: boolean;
  /** Method sent instead of the client's (proxy_method). */
  readonly method: Template | undefined;
  readonly uri: UriPlan;
  /** Fields of the client, lower case, that are not passed on because the plan brings its own or none. */
  readonly replaced: ReadonlySet<string>;
  /** True if the client's other fields are passed on. */
  readonly passFields: boolean;
  /** The plan's own fields, each line ended with CRLF: Host first. */
  fields(request: HttpRequest): string;
  readonly connectTimeout: number;
  readonly sendTimeout: number;
  readonly readTimeout: number;
  readonly next: NextUpstream;
  /** HTTP version spoken: 1.0 closes after each response. */
  readonly version: '1.0' | '1.1' | '2';
  /** Protocol for members instead of HTTP. The same object for plans that may share connections. */
  readonly protocol?: MemberProtocol | undefined;
  /** Settings of the location for the protocol, which are `settings` of each request there ({@link MemberProtocol}). */
  readonly settings?: unknown;
  /** Field names of the response, lower case, that are not passed on. */
  readonly hidden: ReadonlySet<string>;
  /** Field names of the response, lower case, that have no effect on how it is processed (proxy_ignore_headers). */
  readonly ignored: ReadonlySet<string>;
  /** Rewrites Location (proxy_redirect); undefined: it stays as it is. */
  readonly rewriteLocation: ((location: string, request: HttpRequest) => string | undefined) | undefined;
  /** Rewrites the value of a Set-Cookie field (proxy_cookie_domain); its result undefined: that one stays as it is. */
  readonly rewriteCookie?: ((cookie: string, request: HttpRequest) => string | undefined) | undefined;
  /** The client gets the ranges it asks for of any 200 whose length is known, whatever the member says of ranges. */
  readonly forceRanges: boolean;
  readonly interceptErrors: boolean;
  readonly buffering: ResponseBuffering;
  readonly ignoreClientAbort: boolean;
  readonly requestBuffering: boolean;
  readonly passBody: boolean;
  /** True if trailers are passed on (proxy_pass_trailers): those of responses, and those of requests where the member's protocol has them. */
  readonly passTrailers?: boolean;
  /** In place of the client's body, and also where that has none. Its length is the Content-Length. */
  readonly body: Template | undefined;
  /** The location, so that `keepalive … local` keeps its connections apart. */
  readonly scope: object;
  /** Rejects the configuration at the directive that names the target, see {@link Scope.fail}. */
  fail(message: string, hint?: string): never;
}

/** Carries requests to upstream members: choice, connections, retries, bodies both ways, back-pressure. */
export abstract class Exchanges {
  /**
   * Makes the content handler for a plan. A constant target is looked up (and its name resolved) while the configuration is prepared;
   * what is wrong with it is reported there: `host not found in upstream "x"`.
   */
  abstract compile(plan: ExchangePlan): (request: HttpRequest) => Result | Promise<Result>;
  /**
   * Effect of such a handler, for the `explain` of the module that has it: says which upstream would get what. Sends nothing.
   * @param handler as {@link compile} has made it
   */
  abstract explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result;
}

/** As those of {@link SubrequestOptions}. */
export type RequestOptions = Pick<SubrequestOptions, 'method' | 'headers' | 'body' | 'limit' | 'timeout'>;

/**
 * Requests that the server makes to itself without any client, to warm something up or to renew it: they go through all phases, as if a client on
 * the machine itself had sent them, without a connection. In workers only.
 */
export abstract class Requests {
  /**
   * Resolves when the response is complete, whatever its status; rejects when it is cut off or longer than `limit`, and where nothing listens.
   * @param url `http://shop.example:8080/path?args`: the listener is found by the port, the server by the name
   */
  abstract send(url: string, options?: RequestOptions): Promise<Subrequest>;
  /** As {@link send}, but resolves when the response begins: its body is read in pieces, and `limit` has no effect. */
  abstract open(url: string, options?: RequestOptions): Promise<OpenSubrequest>;
}
