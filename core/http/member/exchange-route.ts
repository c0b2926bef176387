import type { ErrorCollector } from '../../config/error-collector.js';
import type { ExplainedUpstream, ExplainNotes } from '../../module/explain.js';
import type { Handler, HttpRequest, Result } from '../../module/http.js';
import { DONE } from '../../module/http.js';
import { isToken, targetText } from '../../module/message-text.js';
import { Exchanges, type ExchangePlan, type UriPlan } from '../../module/services.js';
import type { UpstreamTls } from '../../module/tls/upstream-tls.js';
import { ArgError } from '../../module/spec.js';
import { FieldFilter, FieldFilters, keptFields } from '../../net/http1/fields.js';
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from '../../net/http1/message-head.js';
import { escapeUri } from '../../net/http1/uri.js';
import type { NameResolver } from '../../net/dns/resolution.js';
import { SharedByContent } from '../../net/shared-by-content.js';
import { TlsClient } from '../../net/tls-client.js';
import type { UpstreamPreview } from '../../upstream/preview.js';
import type { Upstream } from '../../upstream/upstream.js';
import { Exchange } from './exchange.js';
import type { Request } from '../request/request.js';
import { type FilePlan, TemporaryPath } from '../site/temporary-path.js';
import { ResponseFields } from './response-fields.js';
import { responseSteps, type ResponseStep } from './response-steps.js';

/** Where upstreams come from: the upstream blocks in force, and single addresses that no block names. */
export interface UpstreamSource {
  /** The upstream of an `upstream` block, of the configuration being prepared while one is. */
  find(name: string): Upstream | undefined;
  /** The upstream of an `upstream` block that traffic may go to now. */
  inForce(name: string): Upstream | undefined;
  /** The upstream of one address (`proxy_pass http://host:port`); names are resolved. Rejects with ArgError. */
  implicit(host: string, port: number): Promise<Upstream>;
  /** The same for a target that a request names. @throws (or rejects) Error whose message is the line of the error log */
  forRequest(host: string, port: number, resolver: NameResolver | undefined): Upstream | Promise<Upstream>;
  /** What {@link forRequest} gives without a resolver. */
  known(host: string, port: number): Upstream;
  /** Members of an upstream, and which of them a request would get. Changes nothing. */
  preview(upstream: Upstream, request: HttpRequest): UpstreamPreview;
}

type TlsClients = SharedByContent<UpstreamTls, TlsClient>;

/** Fields of a response that the engine writes itself: those that lead the head, and the length. */
const OWN_FIELDS = ['content-length', 'content-type', 'last-modified', 'location'];

/** Fields of a request that the engine handles itself or makes anew. */
const FRAMING = ['content-length', 'expect'];

/** A plan with everything that can be known before a request comes. */
export class ExchangeRoute {
  readonly hidden: FieldFilter;
  /** proxy_pass_header says so: a member's Server or Date is passed on. The engine adds none of its own then, as nginx does not. */
  readonly passesServer: boolean;
  readonly passesDate: boolean;
  readonly passesContentType: boolean;
  readonly passesLastModified: boolean;
  readonly passesLocation: boolean;
  readonly #replaced: FieldFilter;
  readonly headLimits: HeadLimits;
  /** Where responses of its members wait for slow clients. */
  readonly responseFile: FilePlan;
  /** What looks at a member's response before it is relayed. */
  readonly steps: readonly ResponseStep[];
  /** Undefined: TLS is not spoken. */
  readonly tls: TlsClient | undefined;
  /** The upstream of a constant target, once it is looked up. */
  upstream: Upstream | undefined = undefined;

  constructor(
    readonly plan: ExchangePlan,
    private readonly source: UpstreamSource,
    tlsClients: TlsClients,
    filters: FieldFilters,
    /** Scratch of all routes, for the response that has just arrived. */
    readonly fields: ResponseFields,
  ) {
    const { headSize, folder, levels, writeSize } = plan.buffering;
    this.headLimits = { ...DEFAULT_HEAD_LIMITS, line: headSize, field: headSize, total: headSize };
    this.responseFile = {
      path: new TemporaryPath(folder, levels),
      writeSize,
      what: 'an upstream response is buffered to a temporary file',
      when: ' while reading upstream',
    };
    this.steps = responseSteps(plan);
    this.tls = plan.scheme === 'https' ? tlsClients.of(plan.tls) : undefined;
    this.hidden = filters.ofSet(plan.hidden, OWN_FIELDS);
    this.passesServer = !plan.hidden.has('server');
    this.passesDate = !plan.hidden.has('date');
    this.passesContentType = !plan.hidden.has('content-type');
    this.passesLastModified = !plan.hidden.has('last-modified');
    this.passesLocation = !plan.hidden.has('location');
    this.#replaced = filters.of([...FRAMING, ...plan.replaced]);
  }

  /** True when the target is known, or only will be by the request; false when it has to be looked up. */
  find(): boolean {
    const { constant } = this.plan.target;
    if (constant === undefined) return true;
    this.upstream = this.source.find(constant);
    return this.upstream !== undefined;
  }

  /** Looks up a constant target that is no upstream's name. @throws (rejects) ConfigError, as `host not found in upstream "x"` */
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
    const upstream = this.#upstreamFor(request);
    if (upstream !== undefined) return this.#begin(request, upstream);
    return this.#resolveNow(request);
  }

  /** See {@link Exchanges.explain}. */
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
    return notes.pass({ name, scheme: this.plan.scheme, ...headOf(this.#head(request as Request)), ...members });
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

  #begin(request: HttpRequest, upstream: Upstream): Result {
    const own = request as Request;
    if (this.plan.passBody && own.body?.consumed === true) return rejectWithoutBody(own);
    new Exchange(own, this, upstream, this.#head(own)).start();
    return DONE;
  }

  /** Request line and fields, without those that frame the body. What is unchanged is copied in whole ranges. */
  #head(request: Request): string {
    const { plan } = this;
    const method = plan.method === undefined ? request.method : methodOf(plan.method.of(request));
    const line = `${method} ${upstreamTarget(request, plan.uri)} HTTP/${plan.version}\r\n`;
    const { upstreamFields } = request;
    const own = upstreamFields === undefined ? plan.fields(request) : upstreamFields.applyTo(plan.fields(request));
    if (!plan.passFields) return line + own;
    const replaced =
      upstreamFields === undefined ? this.#replaced : new FieldFilter([...FRAMING, ...plan.replaced, ...upstreamFields.names]);
    const { head } = request;
    return line + own + keptFields(head.text, head, replaced);
  }

  /** A target with variables that is no upstream's name: an address, or a name that must be resolved for this request. */
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

/** What the text of a head says, without the version that the client sees. */
function headOf(text: string): Pick<ExplainedUpstream, 'method' | 'uri' | 'version' | 'headers'> {
  const [line = '', ...fields] = text.split('\r\n');
  const [method = '', uri = '', protocol = ''] = line.split(' ');
  const headers = fields
    .filter((field) => field !== '')
    .map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()] as const);
  return { method, uri, version: protocol.slice('HTTP/'.length), headers };
}

function rejectUnresolved(request: Request, error: unknown): Result {
  request.context.log.write('error', error instanceof Error ? error.message : String(error), request);
  return 502;
}

/** Somebody else (an earlier upstream, a module) has got the body, and this upstream would get the request without it: the client is told of the error as it is. */
function rejectWithoutBody(request: Request): Result {
  request.context.log.write('error', 'request body is no longer available: it was streamed to an earlier upstream or reader', request);
  return request.status >= 400 ? request.status : 500;
}

/** @throws Error for what is no method: it is text with variables. */
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
  const port = match[2] === undefined ? defaultPort : /^\d{1,9}$/.test(match[2]) ? Number(match[2]) : 0;
  if (port < 1 || port > 65535) throw new ArgError(`invalid port in upstream "${text}"`);
  return { host: match[1].replace(/^\[|\]$/g, ''), port };
}

/** What OpenSSL says about files is to be known before traffic comes. */
function assertUsable({ tls, plan }: ExchangeRoute): void {
  try {
    void tls?.context;
  } catch (error) {
    plan.fail(`cannot use the certificates of "proxy_ssl_*": ${(error as Error).message}`);
  }
}

/** The names that a constant target may stand for: an upstream of that name, or of its host. */
function namesIn(target: string | undefined): readonly string[] {
  if (target === undefined) return [];
  const [host = ''] = target.split(':', 1);
  return host === target || target.startsWith('[') ? [target] : [target, host];
}

/** The {@link Exchanges} service. Collects what has to be resolved while a configuration is prepared. */
export class HttpExchanges extends Exchanges {
  /** Something is passed on: requests may have bodies that need a place. */
  inUse = false;
  /** Told of the names that targets stand for: what is compiled depends on whether an upstream has them. */
  onUse: (name: string) => void = () => undefined;
  /** Told of the folders that responses are buffered in. */
  onFolder: (path: string) => void = () => undefined;
  #lookups: Promise<void>[] = [];
  #temporaryFolders = new Set<string>();
  /** The routes of the handlers. */
  readonly #routes = new WeakMap<Handler, ExchangeRoute>();
  readonly #tlsClients: TlsClients = new SharedByContent((settings) => new TlsClient(settings));
  readonly #filters = new FieldFilters();
  readonly #fields = new ResponseFields();

  /** @param explains whether explanations are asked for in this thread */
  constructor(
    private readonly source: UpstreamSource,
    private readonly explains: boolean,
  ) {
    super();
  }

  compile(plan: ExchangePlan): (request: HttpRequest) => Result | Promise<Result> {
    const route = new ExchangeRoute(plan, this.source, this.#tlsClients, this.#filters, this.#fields);
    if (Object.keys(plan.tls.context).some((name) => name === 'cert' || name === 'ca')) assertUsable(route);
    this.inUse = true;
    this.#temporaryFolders.add(plan.buffering.folder);
    this.onFolder(plan.buffering.folder);
    for (const name of namesIn(plan.target.constant)) this.onUse(name);
    if (!route.find()) {
      const lookup = route.lookUp();
      // What is wrong is asked for when all are compiled, which may be long after the name turned out to be unknown.
      lookup.catch(() => undefined);
      this.#lookups.push(lookup);
    }
    const handler: Handler = (request) => route.start(request);
    if (this.explains) this.#routes.set(handler, route);
    return handler;
  }

  explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result {
    const route = this.#routes.get(handler);
    if (route === undefined) throw new TypeError('the handler is none of Exchanges.compile');
    return route.explain(request, notes);
  }

  /** True if the change that is being prepared gives a name another meaning. */
  isChanging(name: string): boolean {
    try {
      return this.source.find(name) !== this.source.inForce(name);
    } catch {
      // It is rejected: whoever uses it says so as well.
      return true;
    }
  }

  /** For responses, of the plans compiled since the last call. */
  takeTemporaryFolders(): ReadonlySet<string> {
    const folders = this.#temporaryFolders;
    this.#temporaryFolders = new Set();
    return folders;
  }

  /** Resolves when all names of the plans compiled since the last call were looked up. */
  async settle(errors: ErrorCollector): Promise<void> {
    const lookups = this.#lookups;
    this.#lookups = [];
    for (const result of await Promise.allSettled(lookups)) if (result.status === 'rejected') errors.add(result.reason);
  }
}
