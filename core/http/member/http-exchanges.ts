import type { ErrorCollector } from '../../config/error-collector.js';
import { Exchanges, type ExchangePlan } from '../../contract/exchanges.js';
import type { ExplainNotes } from '../../contract/explain.js';
import type { Handler, HttpRequest, Result } from '../../contract/http.js';
import type { MemberProtocol } from '../../contract/member.js';
import { ExchangeRoute, type UpstreamSource } from './exchange-route.js';
import type { MemberStreams } from './member-stream.js';
import { Http1 } from './protocol/http1/http1.js';
import { Http2Streams } from './protocol/http2/http2-streams.js';
import { SerialStreams } from './protocol/serial-streams.js';
import { TunnelStreams } from './protocol/tunnel-streams.js';
import { RoutesInCommon } from './routes-in-common.js';

/** Reports errors of OpenSSL about files before traffic comes. */
function assertUsable({ tls, plan }: ExchangeRoute): void {
  try {
    tls?.context.assertUsable();
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
  /** Called with the names that targets stand for: the compiled route depends on whether an upstream has them. */
  onUse: (name: string) => void = () => undefined;
  /** Called with the folders that responses are buffered in. */
  onFolder: (path: string) => void = () => undefined;
  #lookups: Promise<void>[] = [];
  #temporaryFolders = new Set<string>();
  /** The routes of the handlers. */
  readonly #routes = new WeakMap<Handler, ExchangeRoute>();
  readonly #common = new RoutesInCommon();
  readonly #http1 = new SerialStreams(new Http1());
  readonly #http2 = new Http2Streams();
  readonly #tunnels = new TunnelStreams();
  readonly #streams = new WeakMap<MemberProtocol, MemberStreams>();

  /** @param explains explanations are asked for in this thread, and certificates are checked */
  constructor(
    private readonly source: UpstreamSource,
    private readonly explains: boolean,
  ) {
    super();
  }

  compile(plan: ExchangePlan): (request: HttpRequest) => Result | Promise<Result> {
    const route = new ExchangeRoute(plan, this.source, this.#common, this.#streamsOf(plan));
    if (this.explains && Object.keys(plan.tls.context).some((name) => name === 'cert' || name === 'ca')) assertUsable(route);
    this.inUse = true;
    if (plan.buffering.folder !== '') {
      this.#temporaryFolders.add(plan.buffering.folder);
      this.onFolder(plan.buffering.folder);
    }
    return this.#add(route);
  }

  /** The same for CONNECT: the connection to a member becomes a tunnel. */
  compileTunnel(plan: ExchangePlan): Handler {
    return this.#add(new ExchangeRoute(plan, this.source, this.#common, this.#tunnels));
  }

  #add(route: ExchangeRoute): (request: HttpRequest) => Result | Promise<Result> {
    for (const name of namesIn(route.plan.target.constant)) this.onUse(name);
    if (!route.find()) {
      const lookup = route.lookUp();
      // Its error is asked for when all are compiled, which may be long after the name turned out to be unknown.
      lookup.catch(() => undefined);
      this.#lookups.push(lookup);
    }
    const handler: Handler = (request) => route.start(request);
    if (this.explains) this.#routes.set(handler, route);
    return handler;
  }

  #streamsOf({ protocol, version }: ExchangePlan): MemberStreams {
    if (protocol === undefined) return version === '2' ? this.#http2 : this.#http1;
    const known = this.#streams.get(protocol);
    if (known !== undefined) return known;
    const streams = new SerialStreams(protocol);
    this.#streams.set(protocol, streams);
    return streams;
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
      // It is rejected, and its users report that as well.
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
