import { STREAM_BAD_GATEWAY, STREAM_INTERNAL_ERROR, STREAM_OK } from '../../contract/stream.js';
import { systemErrorText } from '../../contract/system-error.js';
import { isOutOfDescriptors } from '../../net/descriptors.js';
import type { Timed } from '../../net/timers.js';
import type { FlowReceiver } from '../../net/udp/udp-flow.js';
import { UdpPeer, type UdpPeerUser } from '../../net/udp/udp-peer.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { UdpClient } from '../client/udp-client.js';
import type { SessionOwner } from '../session/session-owner.js';
import type { Session } from '../session/session.js';
import { DatagramPace } from './datagram-pace.js';
import type { RelayRoute, RelaySettings } from './relay-route.js';
import { TIMED_OUT } from './session-attempt.js';
import { SessionAttempts } from './session-attempts.js';

/**
 * The datagrams of a client and its member. The session ends after the responses that proxy_responses expects for its requests, or when
 * nothing moves for proxy_timeout: this is a failure of the member only if it owes responses (nginx: ngx_stream_proxy_test_finalize).
 */
export class UdpRelay implements FlowReceiver, UdpPeerUser, SessionOwner, Timed {
  deadline = 0;
  slot = -1;
  #peer: UdpPeer | undefined = undefined;
  /** It sends datagrams on: there is a member, and what was held has gone there. */
  #isRelaying = false;
  #requests = 0;
  #responses = 0;
  /** Status of its failure; 0: it has not failed. */
  #failure = 0;
  readonly #attempts: SessionAttempts;
  readonly #settings: RelaySettings;
  /** Undefined: there is no limit. */
  readonly #up: DatagramPace | undefined;
  readonly #down: DatagramPace | undefined;

  constructor(
    private readonly session: Session,
    private readonly client: UdpClient,
    private readonly route: RelayRoute,
    upstream: Upstream,
  ) {
    this.#attempts = new SessionAttempts(session, upstream, route.plan.next);
    this.#settings = route.settingsFor(session);
    const { uploadRate, downloadRate } = this.#settings;
    if (uploadRate > 0) this.#up = new DatagramPace(session.context, uploadRate, (bytes) => this.#toPeer(bytes));
    if (downloadRate > 0) this.#down = new DatagramPace(session.context, downloadRate, (bytes) => this.#toClient(bytes));
  }

  start(): void {
    this.session.owner = this;
    this.#next();
  }

  stop(): void {
    this.session.context.timers.forget(this);
    this.#up?.stop();
    this.#down?.stop();
    this.#peer?.close();
    this.#peer = undefined;
    this.#isRelaying = false;
    this.#attempts.current?.end(this.#failure > 0, this.#failure);
  }

  // The client's side.

  onClientDatagram(bytes: Buffer): void {
    this.session.bytesReceived += bytes.length;
    this.#touch();
    if (this.#up === undefined) this.#toPeer(bytes);
    else this.#up.push(bytes);
  }

  onClientLost(reason: string): void {
    this.client.onClientLost(reason);
  }

  // The member's side.

  onPeerDatagram(bytes: Buffer): void {
    if (!this.#isRelaying) return;
    this.session.context.clock.refresh();
    const { current } = this.#attempts;
    // That a socket is connected says nothing of the member; that it responds does.
    if (current?.received === 0) current.succeeded();
    current?.onReceived(bytes.length);
    this.#touch();
    if (this.#down === undefined) this.#toClient(bytes);
    else this.#down.push(bytes);
  }

  onPeerError(reason: string): void {
    if (this.#peer === undefined) return;
    if (this.#isRelaying) this.#fail(`${reason} while proxying connection`);
    else if (this.#attempts.fail(reason)) this.#next();
  }

  onPeerDropped(error: Error): void {
    this.session.context.admission.dropped(error, 'members');
  }

  /** Nothing has moved for proxy_timeout. */
  onDeadline(): void {
    if (this.#owesResponses()) {
      this.#fail('upstream timed out (110: Connection timed out) while proxying connection', TIMED_OUT);
      return;
    }
    this.#logEnd('udp timed out');
    this.session.end(STREAM_OK);
  }

  // Attempts.

  #next(): void {
    this.#peer?.close();
    this.#peer = undefined;
    const member = this.#attempts.begin();
    if (member !== undefined) this.#connect(member);
  }

  #connect(member: Peer): void {
    const { address } = this.route.sourceOf(member, this.session);
    if ('path' in address) {
      this.#couldNotTry(`datagrams to unix sockets are not supported, "${member.server}"`);
      return;
    }
    try {
      this.#peer = new UdpPeer(address, this.session.context.transport, this);
    } catch (error) {
      const call = isOutOfDescriptors(error) ? 'socket()' : `bind(${address.localAddress ?? ''})`;
      this.#couldNotTry(`${call} failed (${systemErrorText(error)})`);
      return;
    }
    if (!this.session.context.admission.admitSocket(this.#peer.descriptor)) {
      this.session.end(STREAM_INTERNAL_ERROR);
      return;
    }
    if (this.#peer.connected) this.#relay();
  }

  #relay(): void {
    const { current } = this.#attempts;
    current?.connected();
    this.#isRelaying = true;
    this.#touch();
    for (const bytes of this.client.takeHeld(this)) {
      if (this.#up === undefined) this.#toPeer(bytes);
      else this.#up.push(bytes);
    }
  }

  /** The server itself has no means to ask a member: no failure of the member, and another one could not be asked either. */
  #couldNotTry(reason: string): void {
    this.session.context.log.write('alert', `${reason} while connecting to upstream`, this.session);
    this.session.end(STREAM_INTERNAL_ERROR);
  }

  // Datagrams.

  #toPeer(bytes: Buffer): void {
    const { current } = this.#attempts;
    if (this.#peer === undefined || current === undefined || !this.#isRelaying) return;
    if (this.#peer.send(bytes)) current.sent += bytes.length;
    this.#requests++;
    this.#endIfDone();
  }

  #toClient(bytes: Buffer): void {
    if (this.client.flow.send(bytes)) this.session.bytesSent += bytes.length;
    this.#responses++;
    this.#endIfDone();
  }

  /** The member has sent all that is expected of it. */
  #endIfDone(): void {
    const { requests, responses } = this.route.plan;
    if (requests > 0) {
      if (this.#requests < requests) return;
      this.client.flow.detach();
    }
    if (responses === undefined || this.#owesResponses()) return;
    this.#logEnd('udp done');
    this.session.end(STREAM_OK);
  }

  #owesResponses(): boolean {
    const { responses } = this.route.plan;
    return responses !== undefined && this.#responses < responses * this.#requests;
  }

  #fail(reason: string, status = STREAM_BAD_GATEWAY): void {
    const { session } = this;
    const { current } = this.#attempts;
    this.#failure = status;
    if (current !== undefined) current.failure = reason;
    session.context.log.write('error', reason, session);
    session.end(STREAM_BAD_GATEWAY);
  }

  #touch(): void {
    this.session.context.timers.arm(this, this.#settings.idleTimeout);
  }

  #logEnd(what: string): void {
    const { session } = this;
    const { log } = session.context;
    const { sent = 0, received = 0 } = this.#attempts.current ?? {};
    if (!log.enabled('info', session)) return;
    log.write(
      'info',
      `${what}, packets from/to client:${this.#requests}/${this.#responses}, bytes from/to client:${session.bytesReceived}/${session.bytesSent}, bytes from/to upstream:${received}/${sent}`,
      session,
      'number',
    );
  }
}
