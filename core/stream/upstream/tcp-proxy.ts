import { STREAM_BAD_GATEWAY, STREAM_INTERNAL_ERROR } from '../../module/stream.js';
import { PeerConnection, type PeerUser } from '../../net/peer-connection.js';
import { Choice } from '../../upstream/choice.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { TcpClient } from '../client/tcp-client.js';
import type { Session, SessionOwner } from '../session/session.js';
import type { SessionTrace } from '../session/upstream-trace.js';
import { proxyHeaderLine } from './proxy-header-line.js';
import type { RelayRoute } from './relay-route.js';
import { SessionAttempt } from './session-attempt.js';
import { TcpRelay } from './tcp-relay.js';

/** A session over TCP until it is connected to a member: tries one after the other (nginx: ngx_stream_proxy_connect). */
export class TcpProxy implements SessionOwner, SessionTrace, PeerUser {
  readonly attempts: SessionAttempt[] = [];
  #choice: Choice | undefined;
  #tries = 0;
  readonly #startedAt: number;

  constructor(
    private readonly session: Session,
    private readonly client: TcpClient,
    private readonly route: RelayRoute,
    private readonly upstream: Upstream,
  ) {
    this.#startedAt = session.context.clock.now;
    this.#choice = upstream.choiceForSession(session);
  }

  start(): void {
    this.session.owner = this;
    this.session.trace = this;
    this.#next();
  }

  stop(): void {
    const attempt = this.attempts.at(-1);
    attempt?.connection?.close();
    attempt?.end(false);
  }

  // The member's side.

  onConnected(): void {
    const { session, client, route } = this;
    const attempt = this.attempts.at(-1);
    const connection = attempt?.connection;
    if (attempt === undefined || connection === undefined) return;
    session.context.timers.disarm(connection);
    attempt.connectTime = attempt.elapsed;
    if (route.plan.keepAlive) connection.socket.setKeepAlive(true);
    const relay = new TcpRelay(session, client, connection, attempt, route.settingsFor(session));
    if (route.plan.proxyProtocol) relay.introduce(proxyHeaderLine(session.connection));
    relay.start();
  }

  onUpstreamClosed(reason: string): void {
    const isShort = this.attempts.at(-1)?.connection?.outOfDescriptors === true;
    if (isShort) this.#couldNotTry(reason);
    else this.#fail(reason === '' ? 'upstream prematurely closed connection' : reason);
  }

  onUpstreamTimeout(): void {
    this.#fail('upstream timed out (110: Connection timed out)');
  }

  // Nothing is sent or read before it is connected.
  onUpstreamData(): void {}
  onUpstreamDrain(): void {}
  onUpstreamEnd(): void {}

  // Attempts.

  #next(): void {
    const { session, upstream } = this;
    const { context } = session;
    const peer = upstream.pick(this.#choice);
    const attempt = new SessionAttempt(upstream, peer, context.clock);
    this.attempts.push(attempt);
    if (peer === undefined) {
      context.log.write('error', 'no live upstreams while connecting to upstream', session);
      session.end(STREAM_BAD_GATEWAY);
      return;
    }
    this.#tries++;
    this.#connect(attempt, peer);
  }

  #connect(attempt: SessionAttempt, peer: Peer): void {
    const { session, route } = this;
    const { context } = session;
    const tlsName = route.tls === undefined ? '' : route.plan.tlsName.of(session);
    const connection = new PeerConnection(route.sourceOf(peer, session), context, route.tls, tlsName);
    attempt.connection = connection;
    connection.reuse(this);
    context.timers.arm(connection, route.plan.connectTimeout);
  }

  /** The server itself has no means to ask a member: no failure of the member, and another one could not be asked either. */
  #couldNotTry(reason: string): void {
    const { session } = this;
    session.context.log.write('alert', `${reason} while connecting to upstream`, session);
    session.end(STREAM_INTERNAL_ERROR);
  }

  #fail(reason: string): void {
    const { session, route } = this;
    const attempt = this.attempts.at(-1);
    const peer = attempt?.peer;
    if (attempt === undefined || peer === undefined) return;
    attempt.failure = `${reason} while connecting to upstream`;
    session.context.log.write('error', attempt.failure, session);
    attempt.connection?.close();
    attempt.end(true);
    (this.#choice ??= new Choice(undefined, session)).tried.push(peer);
    if (route.plan.next.enabled && this.#mayGoOn()) this.#next();
    else session.end(STREAM_BAD_GATEWAY);
  }

  #mayGoOn(): boolean {
    const { tries, timeoutMs } = this.route.plan.next;
    if (tries > 0 && this.#tries >= tries) return false;
    if (timeoutMs > 0 && this.session.context.clock.now - this.#startedAt >= timeoutMs) return false;
    return this.#tries < this.upstream.tries;
  }
}
