import type { ExplainedUpstream, ExplainNotes } from '../../contract/explain.js';
import type { HttpRequest, Result } from '../../contract/http.js';
import { DONE } from '../../contract/http.js';
import { isToken, targetText } from '../../contract/message-text.js';
import type { ExchangePlan, UriPlan } from '../../contract/exchanges.js';
import { ArgError } from '../../contract/spec.js';
import { FieldFilter, keptFields } from '../../net/http1/fields.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import { escapeUri } from '../../net/http1/uri.js';
import type { NameResolver } from '../../net/dns/resolution.js';
import type { TlsClient } from '../../net/tls-client.js';
import type { TlsClientChoice } from '../../net/tls-clients.js';
import type { UpstreamPreview } from '../../upstream/preview.js';
import type { Upstream } from '../../upstream/upstream.js';
import { Exchange } from './exchange.js';
import { fieldPairs } from '../request/head-fields.js';
import type { Request } from '../request/request.js';
import type { StorePlan } from '../site/temporary-path.js';
import { BodyWait } from './body-wait.js';
import { storeBody } from '../request/stored-body.js';
import type { MemberRoute } from './member-route.js';
import type { MemberStreams } from './member-stream.js';
import { TunnelStreams } from './protocol/tunnel-streams.js';
import { askBefore, ModuleCall } from './module-call.js';
import type { ResponseFields } from './response-fields.js';
import type { RoutesInCommon } from './routes-in-common.js';
import { StoredHeads } from './stored-heads.js';
import { responseSteps, TUNNEL_STEPS, type ResponseStep } from './response-steps.js';

/** Where upstreams come from: the upstream blocks of the configuration, and single addresses that no block names. */
export interface UpstreamSource {
  /** The upstream of an `upstream` block, of the configuration being prepared while one is. */
  find(name: string): Upstream | undefined;
  /** The upstream of an `upstream` block that traffic may go to now. */
  inForce(name: string): Upstream | undefined;
  /** The upstream of one address (`proxy_pass http://host:port`); names are resolved. Rejects with ArgError. */
  implicit(host: string, port: number): Promise<Upstream>;
  /** The same for a target that a request names. @throws (or rejects) Error whose message is the line of the error log */
  forRequest(host: string, port: number, resolver: NameResolver | undefined): Upstream | Promise<Upstream>;
  /** Result of {@link forRequest} without a resolver. */
  known(host: string, port: number): Upstream;
  /** Members of an upstream, and which of them a request would get. Changes nothing. */
  preview(upstream: Upstream, request: HttpRequest): UpstreamPreview;
}

/** Fields of a response that the engine writes itself: the first ones of the head, and the length. */
const OWN_FIELDS = ['content-length', 'content-type', 'last-modified', 'location'];

/** Fields of a request that the engine handles itself or writes again. */
const FRAMING = ['content-length', 'expect'];

/** A plan with everything that can be known before a request comes. */
export class ExchangeRoute implements MemberRoute {
  readonly hidden: FieldFilter;
  readonly passesServer: boolean;
  readonly passesDate: boolean;
  readonly passesContentType: boolean;
  readonly passesLastModified: boolean;
  readonly passesLocation: boolean;
  readonly storedHeads = new StoredHeads();
  readonly #replaced: FieldFilter;
  readonly fields: ResponseFields;
  readonly headLimits: HeadLimits;
  readonly responseStore: StorePlan;
  /** Where they are stored for modules. */
  readonly copyStore: StorePlan;
  /** Observers of a member's response before it is relayed. */
  readonly steps: readonly ResponseStep[];
  readonly #tls: TlsClientChoice | undefined;
  /** The upstream of a constant target, once it is looked up. */
  upstream: Upstream | undefined = undefined;

  constructor(
    readonly plan: ExchangePlan,
    private readonly source: UpstreamSource,
    common: RoutesInCommon,
    readonly streams: MemberStreams,
  ) {
    const limits = common.limitsOf(plan);
    this.fields = common.fields;
    this.headLimits = limits.head;
    this.responseStore = limits.responseStore;
    this.copyStore = limits.copyStore;
    this.steps = this.isTunnel ? TUNNEL_STEPS : responseSteps(plan);
    this.#tls = plan.scheme === 'https' ? common.tlsClients.choice(plan.tls) : undefined;
    this.hidden = common.filters.ofSet(plan.hidden, OWN_FIELDS);
    this.passesServer = !plan.hidden.has('server');
    this.passesDate = !plan.hidden.has('date');
    this.passesContentType = !plan.hidden.has('content-type');
    this.passesLastModified = !plan.hidden.has('last-modified');
    this.passesLocation = !plan.hidden.has('location');
    this.#replaced = common.filters.of([...FRAMING, ...plan.replaced]);
  }

  /** Members are joined with clients of CONNECT. */
  get isTunnel(): boolean {
    return this.streams instanceof TunnelStreams;
  }

  /** The client that needs no request. Undefined: TLS is not spoken. */
  get tls(): TlsClient | undefined {
    return this.#tls?.common;
  }

  /** Undefined: TLS is not spoken. @throws Error for the error log: the certificate that variables name cannot be used */
  tlsFor(request: Request): TlsClient | undefined {
    return this.#tls?.of(request, request.context.transport);
  }

  /** True when the target is known, or only will be by the request; false when it has to be looked up. */
  find(): boolean {
    const { constant } = this.plan.target;
    if (constant === undefined) return true;
    this.upstream = this.source.find(constant);
    return this.upstream !== undefined;
  }

  /** Looks up a constant target that names none of the upstreams. @throws (rejects) ConfigError, as `host not found in upstream "x"` */
  async lookUp(): Promise<void> {
    try {
      const { host, port } = splitAddress(this.plan.target.constant ?? '', this.plan.defaultPort);
      if (this.source.find(host) !== undefined)
        throw new ArgError(`upstream "${host}" may not have port ${port}`, 'its servers have theirs');
      this.upstream = await this.source.implicit(host, port);
    } catch (error) {
      if (error instanceof ArgError) this.plan.fail(error.message, error.hint);
      throw error;
    }
  }

  start(request: HttpRequest): Result | Promise<Result> {
    const own = request as Request;
    if (!this.#needsWholeBody(own)) return this.#go(own);
    const wait = new BodyWait(own, this.#onBodyStored);
    if (storeBody(own, wait)) return this.#go(own);
    // It may have failed at once, and got its response.
    if (!own.finished && own.owner === undefined) own.owner = wait;
    return DONE;
  }

  readonly #onBodyStored = (request: Request): void => request.context.flow.settle(request, () => this.#go(request));

  /** The text of the request may depend on its body. HTTP/1.0 has no chunks: the length has to be known there before anything is sent. */
  #needsWholeBody({ body, contentLength }: Request): boolean {
    if (body === undefined || body.isDiscarded || body.consumed || body.stored?.isWhole === true) return false;
    return this.plan.requestBuffering || ((this.plan.version === '1.0' || this.streams.needsLength) && contentLength < 0);
  }

  #go(request: Request): Result | Promise<Result> {
    const upstream = this.#upstreamFor(request);
    if (upstream !== undefined) return this.#begin(request, upstream);
    return this.#resolveNow(request);
  }

  /** See `explain` of the service `Exchanges`. */
  explain(request: HttpRequest, notes: ExplainNotes): Result {
    const target = this.plan.target.of(request);
    let upstream = this.#upstreamFor(request);
    if (upstream === undefined) {
      const address = this.#addressOf(target, request);
      if (address === undefined) return 500;
      try {
        upstream = this.source.known(address.host, address.port);
      } catch (error) {
        if ((request as Request).location.settings.resolver === undefined) return rejectUnresolved(request as Request, error);
      }
    }
    const members = upstream === undefined ? NOT_LOOKED_UP : this.source.preview(upstream, request);
    const name = upstream?.name ?? target;
    const { shownScheme, scheme } = this.plan;
    return notes.pass({ name, scheme: shownScheme ?? scheme, ...this.#shown(request as Request), ...members });
  }

  #upstreamFor(request: HttpRequest): Upstream | undefined {
    return this.upstream ?? this.source.inForce(this.plan.target.of(request));
  }

  /** Undefined: it is none, which is logged. */
  #addressOf(target: string, request: HttpRequest): { host: string; port: number } | undefined {
    try {
      return splitAddress(target, this.plan.defaultPort);
    } catch {
      (request as Request).context.log.write('error', `invalid upstream "${target}"`, request);
      return undefined;
    }
  }

  #begin(request: HttpRequest, upstream: Upstream): Result | Promise<Result> {
    const own = request as Request;
    if (this.plan.passBody && own.body?.consumed === true) return rejectWithoutBody(own);
    const method = this.#method(own);
    if (own.location.callHandlers.length === 0) return this.#exchange(own, upstream, method, this.target(own));
    // Members get the target that the modules have seen: a cache has it in its key.
    return askBefore(new ModuleCall(own, this, method), (call) => this.#exchange(own, upstream, call.method, call.target));
  }

  target(request: Request): string {
    return upstreamTarget(request, this.plan.uri);
  }

  #exchange(request: Request, upstream: Upstream, method: string, target: string): Result {
    new Exchange(request, this, upstream, method, target).start();
    return DONE;
  }

  #method(request: Request): string {
    const { method } = this.plan;
    return method === undefined ? request.method : methodOf(method.of(request));
  }

  /** The fields for the next member, except the ones that frame the body. Unchanged fields are copied in whole ranges. */
  fieldsFor(request: Request): string {
    const { plan } = this;
    const { upstreamFields } = request;
    const own = upstreamFields === undefined ? plan.fields(request) : upstreamFields.applyTo(plan.fields(request));
    if (!plan.passFields) return own;
    const replaced =
      upstreamFields === undefined ? this.#replaced : new FieldFilter([...FRAMING, ...plan.replaced, ...upstreamFields.names]);
    const { head } = request;
    return own + keptFields(head.text, head, replaced);
  }

  /** For explanations. */
  #shown(request: Request): Pick<ExplainedUpstream, 'method' | 'uri' | 'version' | 'headers'> {
    const uri = this.target(request);
    const version = this.plan.protocol === undefined && !this.isTunnel ? this.plan.version : '';
    return { method: this.#method(request), uri, version, headers: fieldPairs(this.fieldsFor(request)) };
  }

  /** A target with variables that names none of the upstreams: an address, or a name that must be resolved for this request. */
  #resolveNow(request: HttpRequest): Result | Promise<Result> {
    const { location } = request as Request;
    const address = this.#addressOf(this.plan.target.of(request), request);
    if (address === undefined) return 500;
    let found: Upstream | Promise<Upstream>;
    try {
      found = this.source.forRequest(address.host, address.port, location.settings.resolver);
    } catch (error) {
      return rejectUnresolved(request as Request, error);
    }
    if (!(found instanceof Promise)) return this.#begin(request, found);
    return found.then(
      (upstream) => ((request as Request).finished ? DONE : this.#begin(request, upstream)),
      (error: unknown) => rejectUnresolved(request as Request, error),
    );
  }
}

/** A name that is looked up when a request comes. */
const NOT_LOOKED_UP: UpstreamPreview = { balancing: 'its address is looked up when a request comes', members: [], more: 0 };

function rejectUnresolved(request: Request, error: unknown): Result {
  request.context.log.write('error', error instanceof Error ? error.message : String(error), request);
  return 502;
}

/** The body went elsewhere (to an earlier upstream, a module), and this upstream would get the request without it: the client gets the error as it is. */
function rejectWithoutBody(request: Request): Result {
  request.context.log.write('error', 'request body is no longer available: it was streamed to an earlier upstream or reader', request);
  return request.status >= 400 ? request.status : 500;
}

/** @throws Error for an invalid method, which text with variables may give. */
function methodOf(text: string): string {
  if (!isToken(text)) throw new Error(`invalid method "${text}" for the upstream`);
  return text;
}

/** The request target for the upstream (see {@link UriPlan}). */
function upstreamTarget(request: Request, plan: UriPlan): string {
  if (plan.kind === 'template') {
    const text = plan.text.of(request);
    const target = text.startsWith('?') ? `/${text}` : text;
    if (target !== '') return targetText(target);
  }
  if (plan.kind !== 'replace' && !request.uriChanged) return request.requestUri;
  const path = plan.kind !== 'replace' || request.rewritten ? escapeUri(request.uri) : plan.by + escapeUri(request.uri.slice(plan.length));
  // Those of an internal redirect may be made of what was decoded, such as `$uri`.
  return request.args === '' ? path : targetText(`${path}?${request.args}`);
}

/** `host`, `host:port`, `[v6]:port`, `unix:/path`. @throws ArgError */
export function splitAddress(text: string, defaultPort: number): { host: string; port: number } {
  if (text.startsWith('unix:')) {
    if (/^unix::?$/.test(text)) throw new ArgError(`no path in the unix domain socket in upstream "${text}"`);
    return { host: text.endsWith(':') ? text.slice(0, -1) : text, port: 0 };
  }
  const match = /^(\[[^\]]+\]|[^:[\]]+)(?::(.*))?$/s.exec(text);
  if (!match?.[1]) throw new ArgError(`invalid host in upstream "${text}"`);
  if (match[2] === undefined && defaultPort === 0)
    throw new ArgError(`no port in upstream "${text}"`, 'write host:port, or the name of an upstream');
  const port = match[2] === undefined ? defaultPort : /^\d{1,9}$/.test(match[2]) ? Number(match[2]) : 0;
  if (port < 1 || port > 65535) throw new ArgError(`invalid port in upstream "${text}"`);
  return { host: match[1].replace(/^\[|\]$/g, ''), port };
}
