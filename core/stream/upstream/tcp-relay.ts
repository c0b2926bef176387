import { STREAM_OK } from '../../contract/stream.js';
import { systemErrorText } from '../../contract/system-error.js';
import { ByteFlow, type FlowOwner } from '../../net/byte-flow.js';
import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';
import type { ConnectionUser } from '../../net/transport/connection.js';
import type { Timed } from '../../net/timers.js';
import type { TcpClient } from '../client/tcp-client.js';
import type { SessionOwner } from '../session/session-owner.js';
import type { Session } from '../session/session.js';
import type { RelaySettings } from './relay-route.js';
import type { SessionAttempt } from './session-attempt.js';

/** How long the last bytes may take to leave, in milliseconds. */
const LAST_BYTES_TIME = 10_000;

/** A client and its member, byte for byte. It is the user of both sockets. */
export class TcpRelay implements ConnectionUser, PeerUser, SessionOwner, Timed, FlowOwner {
  deadline = 0;
  slot = -1;
  readonly #up: ByteFlow;
  readonly #down: ByteFlow;
  #clientEnded = false;
  #upstreamEnded = false;
  #isOpen = true;

  constructor(
    private readonly session: Session,
    private readonly client: TcpClient,
    private readonly upstream: PeerConnection,
    private readonly attempt: SessionAttempt,
    private readonly settings: RelaySettings,
  ) {
    const { context } = session;
    this.#up = new ByteFlow(client.socket, client.socket.memory, upstream.socket, context, settings.uploadRate, this);
    this.#down = new ByteFlow(upstream.socket, upstream.socket.memory, client.socket, context, settings.downloadRate, this);
  }

  /** Sends what comes before the bytes of the client. */
  introduce(text: string): void {
    this.attempt.sent += text.length;
    this.upstream.socket.write(text, 'latin1');
  }

  start(): void {
    const { session, client, upstream } = this;
    session.owner = this;
    upstream.user = this;
    client.socket.client = this;
    this.#touch();
    // Before the flow, which may pause it.
    if (!client.hasEnded) client.socket.resume();
    const held = client.takeHeld();
    if (held.length > 0) {
      this.attempt.sent += held.length;
      this.#up.write(held, false);
    }
    if (client.hasEnded) this.onEnd();
  }

  // The client's side.

  onData(chunk: Buffer, borrowed: boolean): void {
    this.#countUp(chunk.length);
    this.#up.write(chunk, borrowed);
  }

  onEnd(): void {
    if (this.#clientEnded || this.#up.whenSent(() => this.onEnd())) return;
    this.#clientEnded = true;
    if (!this.settings.halfClose || this.#upstreamEnded) this.#finish('client');
    else this.upstream.socket.end();
  }

  onClose(): void {
    const { errored } = this.client.socket;
    if (this.#isOpen && errored) this.#log(`recv() failed (${systemErrorText(errored)}) while proxying and reading from client`);
    if (this.#isOpen) this.#finish('client');
    this.client.onClose();
  }

  onDrain(): void {
    this.#touch();
    this.#down.onDrain();
  }

  // The member's side.

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    this.#countDown(chunk.length);
    this.#down.write(chunk, borrowed);
  }

  onUpstreamEnd(): void {
    if (this.#upstreamEnded) return;
    this.#upstreamEnded = true;
    if (!this.settings.halfClose || this.#clientEnded) this.#finish('upstream');
    else this.client.socket.end();
  }

  onUpstreamClosed(reason: string): void {
    if (reason !== '') this.session.context.log.write('error', `${reason} while proxying and reading from upstream`, this.session);
    this.#finish('upstream');
  }

  onUpstreamDrain(): void {
    this.#touch();
    this.#up.onDrain();
  }

  onPassed(flow: ByteFlow, count: number): void {
    this.session.context.clock.refresh();
    if (flow === this.#up) this.#countUp(count);
    else this.#countDown(count);
  }

  onConnected(): void {}
  onUpstreamTimeout(): void {}

  /** Nothing has moved for proxy_timeout. */
  onDeadline(): void {
    if (this.#up.isDelayed || this.#down.isDelayed) {
      this.#touch();
      return;
    }
    this.#log('connection timed out (110: Connection timed out) while proxying connection');
    this.session.end(STREAM_OK);
  }

  /** Data on its way to the member is still sent. */
  stop(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { upstream, session } = this;
    session.context.timers.forget(this);
    this.#up.stop();
    this.#down.stop();
    upstream.closeSoon(LAST_BYTES_TIME);
    this.attempt.end(false);
  }

  #finish(side: 'client' | 'upstream'): void {
    if (!this.#isOpen) return;
    const { session, attempt } = this;
    const { log } = session.context;
    if (log.enabled('info', session))
      log.write(
        'info',
        `${side} disconnected, bytes from/to client:${session.bytesReceived}/${session.bytesSent}, bytes from/to upstream:${attempt.received}/${attempt.sent}`,
        session,
        'number',
      );
    session.end(STREAM_OK);
  }

  #countUp(length: number): void {
    this.session.bytesReceived += length;
    this.attempt.sent += length;
    this.#touch();
  }

  #countDown(length: number): void {
    this.attempt.onReceived(length);
    this.session.bytesSent += length;
    this.#touch();
  }

  #touch(): void {
    this.session.context.timers.arm(this, this.settings.idleTimeout);
  }

  #log(text: string): void {
    this.session.context.log.write('info', text, this.session);
  }
}
