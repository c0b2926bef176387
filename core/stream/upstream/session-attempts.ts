import { STREAM_BAD_GATEWAY } from '../../contract/stream.js';
import type { SessionNextUpstream } from '../../contract/stream-relays.js';
import { AttemptObserver } from '../../run/attempt-observer.js';
import { Choice } from '../../upstream/choice.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import { logFailure } from '../session/handler-failure.js';
import type { Session } from '../session/session.js';
import type { SessionTrace } from '../session/upstream-trace.js';
import { SessionAttempt } from './session-attempt.js';

/** Undefined: no module of the server looks at attempts. */
function attemptObserver(session: Session): AttemptObserver<Session> | undefined {
  const { attemptHandlers } = session.server;
  return attemptHandlers.length === 0 ? undefined : new AttemptObserver(session, attemptHandlers, logFailure);
}

/** The attempts of one session to reach a member: one after the other, as proxy_next_upstream allows. */
export class SessionAttempts implements SessionTrace {
  readonly attempts: SessionAttempt[] = [];
  #choice: Choice | undefined;
  #tries = 0;
  readonly #startedAt: number;

  constructor(
    private readonly session: Session,
    private readonly upstream: Upstream,
    private readonly next: SessionNextUpstream,
  ) {
    this.#startedAt = session.context.clock.now;
    this.#choice = upstream.choiceForSession(session);
    session.trace = this;
  }

  /** The attempt in use. */
  get current(): SessionAttempt | undefined {
    return this.attempts.at(-1);
  }

  /** Chooses the member of the next attempt. Undefined: there is none, and the session has ended. */
  begin(): Peer | undefined {
    const { session, upstream } = this;
    const { clock, log } = session.context;
    const peer = upstream.pick(this.#choice);
    const observer = peer && attemptObserver(session);
    const attempt = new SessionAttempt(upstream, peer, clock, this.attempts.length + 1, observer);
    this.attempts.push(attempt);
    observer?.tell(attempt, 'begin');
    if (peer === undefined) {
      log.write('error', 'no live upstreams while connecting to upstream', session);
      session.end(STREAM_BAD_GATEWAY);
    } else this.#tries++;
    return peer;
  }

  /**
   * The attempt in use has failed before it was connected.
   * @param doing for the log: `connecting to`
   * @param status of the attempt
   * @returns true: another member may be asked; otherwise the session has ended
   */
  fail(reason: string, doing = 'connecting to', status = STREAM_BAD_GATEWAY): boolean {
    const { session, current } = this;
    const peer = current?.peer;
    if (current === undefined || peer === undefined) return false;
    current.failure = `${reason} while ${doing} upstream`;
    session.context.log.write(current.connection?.failureLevel ?? 'error', current.failure, session);
    current.end(true, status);
    (this.#choice ??= new Choice(undefined, session)).exclude(peer);
    if (this.next.enabled && this.#mayGoOn()) return true;
    session.end(STREAM_BAD_GATEWAY);
    return false;
  }

  #mayGoOn(): boolean {
    const { tries, timeoutMs } = this.next;
    if (tries > 0 && this.#tries >= tries) return false;
    if (timeoutMs > 0 && this.session.context.clock.now - this.#startedAt >= timeoutMs) return false;
    return this.#tries < this.upstream.tries;
  }
}
