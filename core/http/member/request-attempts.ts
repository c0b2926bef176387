import { Choice } from '../../upstream/choice.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { QueueUser, WaitingRequest } from '../../upstream/waiting-request.js';
import type { AttemptFacts } from '../request/upstream-trace.js';
import type { Request } from '../request/request.js';
import { Attempt } from './attempt.js';
import { attemptObserver } from './attempt-observer.js';
import type { MemberRoute } from './member-route.js';

/** The attempts of one exchange: which member is asked, and how often another one may be (proxy_next_upstream_tries, _timeout). */
export class RequestAttempts {
  /** Includes the ones of the request's earlier exchanges. */
  readonly all: AttemptFacts[];
  current: Attempt | undefined = undefined;
  readonly #before: number;
  readonly #startedAt: number;
  #choice: Choice | undefined;
  #tries = 0;
  #waiting: WaitingRequest | undefined = undefined;
  #waitsSince = 0;
  #queueTime = -1;

  constructor(
    private readonly request: Request,
    private readonly route: MemberRoute,
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

  /** Chooses the next member. Undefined: there is none to ask now. */
  choose(): Peer | undefined {
    this.#queueTime = -1;
    return this.upstream.pick(this.#choice);
  }

  /** Waits in the queue of the upstream. `none`: there is no queue, or no member to wait for, because all have been tried. */
  wait(user: QueueUser): 'waits' | 'full' | 'none' {
    const { queue, tries } = this.upstream;
    const tried = this.#choice?.tried?.length ?? 0;
    if (queue === undefined || (tried > 0 && tried >= tries)) return 'none';
    this.#waiting = queue.join(this.#choice, user);
    this.#waitsSince = this.request.context.clock.now;
    return this.#waiting === undefined ? 'full' : 'waits';
  }

  /** The time in the queue is over. */
  waited(): void {
    this.#waiting = undefined;
    this.#queueTime = this.request.context.clock.now - this.#waitsSince;
  }

  /** Begins an attempt at a member that was chosen. Undefined: there was none to ask. */
  begin(peer: Peer | undefined): Attempt | undefined {
    const observer = peer && attemptObserver(this.request);
    const attempt = new Attempt(this.upstream, peer, !this.begun, this.request, this.#queueTime, observer);
    this.all.push(attempt);
    attempt.number = this.all.length;
    observer?.tell(attempt, 'begin');
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
    (this.#choice ??= new Choice(this.request)).exclude(peer);
  }

  /** Ends the present attempt. @param failed the member is not asked again */
  release(failed: boolean): void {
    const { current } = this;
    this.#waiting?.leave();
    this.#waiting = undefined;
    if (failed && current?.peer !== undefined) this.exclude(current.peer);
    current?.end(failed);
  }
}
