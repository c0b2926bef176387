import { Choice } from '../../upstream/choice.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { AttemptFacts } from '../request/upstream-trace.js';
import type { Request } from '../request/request.js';
import { Attempt } from './attempt.js';
import type { ExchangeRoute } from './exchange-route.js';

/** The attempts of one exchange: which member is asked, and how often another one may be (proxy_next_upstream_tries, _timeout). */
export class Attempts {
  /** Those of the request's earlier exchanges included. */
  readonly all: AttemptFacts[];
  current: Attempt | undefined = undefined;
  readonly #before: number;
  readonly #startedAt: number;
  #choice: Choice | undefined;
  #tries = 0;

  constructor(
    private readonly request: Request,
    private readonly route: ExchangeRoute,
    private readonly upstream: Upstream,
  ) {
    const { upstreamTrace, context } = request;
    this.all = upstreamTrace === undefined ? [] : [...upstreamTrace.attempts];
    this.#before = this.all.length;
    this.#startedAt = context.clock.now;
    this.#choice = upstream.choiceFor(request);
  }

  /** A member has been looked for. */
  get begun(): boolean {
    return this.all.length > this.#before;
  }

  /** Chooses the next member. Undefined: there is none to ask. */
  next(): Attempt | undefined {
    const peer = this.upstream.pick(this.#choice);
    const attempt = new Attempt(this.upstream, peer, !this.begun, this.request.context.clock);
    this.all.push(attempt);
    if (peer === undefined) {
      attempt.status = 502;
      return undefined;
    }
    this.#tries++;
    this.current = attempt;
    return attempt;
  }

  /** Another attempt may be made. */
  mayGoOn(): boolean {
    const { next } = this.route.plan;
    if (next.tries > 0 && this.#tries >= next.tries) return false;
    if (next.timeoutMs > 0 && this.request.context.clock.now - this.#startedAt >= next.timeoutMs) return false;
    return this.#tries < this.upstream.tries;
  }

  /** Why the present attempt fails, for people. */
  because(text: string): void {
    if (this.current !== undefined) this.current.failure = text;
  }

  /** The member is not asked again for this request. */
  exclude(peer: Peer): void {
    (this.#choice ??= new Choice(this.request)).tried.push(peer);
  }

  /** Ends the present attempt. @param failed the member is not asked again */
  release(reusable: boolean, failed: boolean): void {
    const { current } = this;
    if (failed && current?.peer !== undefined) this.exclude(current.peer);
    current?.end(this.route.plan.scope, reusable, failed);
  }
}
