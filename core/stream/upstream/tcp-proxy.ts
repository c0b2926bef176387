import { STREAM_INTERNAL_ERROR } from '../../contract/stream.js';
import { PeerConnection, type PeerUser } from '../../net/peer-connection.js';
import { hostOfName, type TlsClient } from '../../net/tls-client.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { TcpClient } from '../client/tcp-client.js';
import type { SessionOwner } from '../session/session-owner.js';
import type { Session } from '../session/session.js';
import { proxyHeaderLine } from './proxy-header-line.js';
import type { RelayRoute } from './relay-route.js';
import { TIMED_OUT, type SessionAttempt } from './session-attempt.js';
import { SessionAttempts } from './session-attempts.js';
import { TcpRelay } from './tcp-relay.js';

/** A session over TCP until it is connected to a member: tries one after the other (nginx: ngx_stream_proxy_connect). */
export class TcpProxy implements SessionOwner, PeerUser {
  readonly #attempts: SessionAttempts;

  constructor(
    private readonly session: Session,
    private readonly client: TcpClient,
    private readonly route: RelayRoute,
    upstream: Upstream,
  ) {
    this.#attempts = new SessionAttempts(session, upstream, route.plan.next);
  }

  start(): void {
    this.session.owner = this;
    this.#next();
  }

  stop(): void {
    const { current } = this.#attempts;
    current?.connection?.close();
    current?.end(false);
  }

  // The member's side.

  onConnected(): void {
    const { session, client, route } = this;
    const attempt = this.#attempts.current;
    const connection = attempt?.connection;
    if (attempt === undefined || connection === undefined) return;
    session.context.timers.disarm(connection);
    attempt.connected();
    attempt.succeeded();
    if (route.plan.keepAlive) connection.socket.setKeepAlive(true);
    const relay = new TcpRelay(session, client, connection, attempt, route.settingsFor(session));
    if (connection.preamble !== '') attempt.sent += connection.preamble.length;
    else if (route.plan.proxyProtocol) relay.introduce(proxyHeaderLine(session.connection));
    relay.start();
  }

  onUpstreamClosed(reason: string): void {
    const own = this.#attempts.current?.connection?.ownFailure;
    if (own !== undefined) this.#couldNotTry(own, reason);
    else this.#fail(reason === '' ? 'upstream prematurely closed connection' : reason);
  }

  onUpstreamTimeout(): void {
    this.#fail('upstream timed out (110: Connection timed out)', TIMED_OUT);
  }

  // Nothing is sent or read before it is connected.
  onUpstreamData(): void {}
  onUpstreamDrain(): void {}
  onUpstreamEnd(): void {}

  // Attempts.

  #next(): void {
    const peer = this.#attempts.begin();
    const { current } = this.#attempts;
    if (peer !== undefined && current !== undefined) this.#connect(current, peer);
  }

  #connect(attempt: SessionAttempt, peer: Peer): void {
    const { session, route } = this;
    const { context } = session;
    let tls: TlsClient | undefined;
    try {
      tls = route.tlsFor(session);
    } catch (error) {
      this.#couldNotTry('error', (error as Error).message);
      return;
    }
    const tlsName = tls === undefined ? '' : hostOfName(route.plan.tlsName.of(session));
    const preamble = route.plan.proxyProtocol && tls !== undefined ? proxyHeaderLine(session.connection) : '';
    const connection = new PeerConnection(route.sourceOf(peer, session), context, tls, tlsName, preamble);
    attempt.connection = connection;
    connection.reuse(this);
    context.timers.arm(connection, route.plan.connectTimeout);
  }

  /** The server itself has no means to ask a member: no failure of the member, and another one could not be asked either. */
  #couldNotTry(level: 'alert' | 'crit' | 'error', reason: string): void {
    const { session } = this;
    session.context.log.write(level, `${reason} while connecting to upstream`, session);
    session.end(STREAM_INTERNAL_ERROR);
  }

  #fail(reason: string, status?: number): void {
    const connection = this.#attempts.current?.connection;
    const doing = connection?.isHandshaking === true ? 'SSL handshaking to' : 'connecting to';
    connection?.close();
    if (this.#attempts.fail(reason, doing, status)) this.#next();
  }
}
