/** Requests to members of upstreams, and requests of the server to itself, for unit tests. */
import { Exchanges, Requests, type ExchangePlan, type RequestOptions } from '../core/contract/exchanges.js';
import type { ExplainNotes } from '../core/contract/explain.js';
import { DONE, type Handler, type HttpRequest, type OpenSubrequest, type Result, type Subrequest } from '../core/contract/http.js';
import { Tunnels, type MemberTunnelPlan, type TunnelFacts, type TunnelPlan } from '../core/contract/tunnel.js';
import { fakeRequest, inOnePiece } from './request.js';

/** A request that a handler has taken to an upstream. */
interface Taken<P> {
  readonly request: HttpRequest;
  readonly plan: P;
}

/** Compiles plans to handlers that note the requests they get. */
class FakePlans<P> {
  readonly plans: P[] = [];
  readonly taken: Taken<P>[] = [];
  readonly #byHandler = new Map<unknown, P>();

  compile(plan: P): (request: HttpRequest) => Result {
    this.plans.push(plan);
    const handler = (request: HttpRequest): Result => {
      this.taken.push({ request, plan });
      return DONE;
    };
    this.#byHandler.set(handler, plan);
    return handler;
  }

  /** @throws Error for a handler that was not compiled here */
  planOf(handler: Handler): P {
    const plan = this.#byHandler.get(handler);
    if (plan === undefined) throw new Error('the handler was not made by "compile"');
    return plan;
  }
}

/**
 * Keeps plans, and requests that their handlers get.
 *
 * ```ts
 * const exchanges = new FakeExchanges();
 * const { content } = new Cached(exchanges).compile(fakeScope(Cached, { cached_pass: target }));
 * content(fakeRequest({ uri: '/a' }));
 * assert.equal(exchanges.taken[0].request.uri, '/a');
 * ```
 */
export class FakeExchanges extends Exchanges {
  readonly #fake = new FakePlans<ExchangePlan>();

  get plans(): readonly ExchangePlan[] {
    return this.#fake.plans;
  }
  get taken(): readonly Taken<ExchangePlan>[] {
    return this.#fake.taken;
  }

  compile(plan: ExchangePlan): (request: HttpRequest) => Result {
    return this.#fake.compile(plan);
  }

  /** Says the target of the plan. */
  explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result {
    return notes.end(`passes the request to ${this.#fake.planOf(handler).target.of(request)}`);
  }
}

/** Keeps plans of tunnels, and the requests that they are opened for. No tunnel is ever connected. */
export class FakeTunnels extends Tunnels {
  /** Arguments of {@link open}. */
  readonly opened: Taken<TunnelPlan>[] = [];
  readonly #fake = new FakePlans<MemberTunnelPlan>();

  get plans(): readonly MemberTunnelPlan[] {
    return this.#fake.plans;
  }
  get taken(): readonly Taken<MemberTunnelPlan>[] {
    return this.#fake.taken;
  }

  open(request: HttpRequest, plan: TunnelPlan): TunnelFacts {
    this.opened.push({ request, plan });
    return { address: plan.addresses[0], connectTime: -1, firstByteTime: -1 };
  }

  compile(plan: MemberTunnelPlan): Handler {
    return this.#fake.compile(plan);
  }

  /** Says the target of the plan. */
  explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result {
    return notes.end(`opens a tunnel to ${this.#fake.planOf(handler).target.of(request)}`);
  }
}

/** Response to a request of the server: a status, one with a body, or what it fails with. */
type FakeReply = number | { readonly status: number; readonly body: string | Uint8Array } | Error;

/** Responds to requests of the server to itself. */
export class FakeRequests extends Requests {
  /** Arguments of {@link send} and {@link open}. */
  readonly sent: { readonly url: string; readonly options: RequestOptions }[] = [];

  /** @param replies by URL; for others the response is 404 */
  constructor(private readonly replies: Readonly<Record<string, FakeReply>> = {}) {
    super();
  }

  async send(url: string, options: RequestOptions = {}): Promise<Subrequest> {
    this.sent.push({ url, options });
    const reply = this.replies[url] ?? 404;
    if (reply instanceof Error) throw reply;
    const { status, body } = typeof reply === 'number' ? { status: reply, body: '' } : reply;
    const { host, pathname, search } = new URL(url);
    const request = fakeRequest({ host, uri: pathname, args: search.slice(1), status });
    return Promise.resolve({ status, body: Buffer.from(body as string), request });
  }

  /** The body comes in one piece. */
  async open(url: string, options: RequestOptions = {}): Promise<OpenSubrequest> {
    const { status, body, request } = await this.send(url, options);
    return { status, request, body: inOnePiece(body) };
  }
}
