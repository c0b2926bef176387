import type { PeerConnection } from '../../net/peer-connection.js';
import type { Request } from '../request/request.js';
import { OpenTunnel } from './open-tunnel.js';

/** How long the last bytes may take to leave, in milliseconds. */
const LAST_BYTES_TIME = 10_000;

interface RelayPlan {
  /** Milliseconds without a byte. */
  readonly idleTimeout: number;
  /** Called for bytes from the other end. */
  readonly onReceived: (length: number) => void;
  readonly onEnd: () => void;
}

/**
 * The tunnel of CONNECT. A side that has sent its last byte may go on reading until the other one has as well, or nothing moves any more.
 */
export class TunnelRelay extends OpenTunnel {
  protected readonly timeoutText = 'connection timed out (110: Connection timed out) while proxying connection';
  #clientEnded = false;
  #upstreamEnded = false;

  constructor(
    request: Request,
    upstream: PeerConnection,
    private readonly plan: RelayPlan,
  ) {
    super(request, upstream, plan.idleTimeout);
  }

  start(): void {
    const { request } = this;
    this.touch();
    if (!request.stream.openTunnel(request, this)) this.close(true);
  }

  override clientEnded(): void {
    if (!this.isOpen || this.#clientEnded) return;
    this.#clientEnded = true;
    if (this.#upstreamEnded) this.close(false);
    else this.upstream.socket.end();
  }

  override onUpstreamDrain(): void {
    this.touch();
    super.onUpstreamDrain();
  }

  override onUpstreamEnd(): void {
    if (this.#upstreamEnded) return;
    this.#upstreamEnded = true;
    if (this.#clientEnded) this.close(false);
    else this.request.stream.endTunnelOutput(this.request);
  }

  override onUpstreamClosed(reason: string): void {
    const { request } = this;
    if (reason !== '') request.context.log.write('info', `${reason} while proxying connection`, request);
    this.close(reason !== '');
  }

  protected received(length: number): void {
    this.plan.onReceived(length);
  }

  protected finish(): void {
    this.plan.onEnd();
    // The last data of the client is still sent.
    this.upstream.closeSoon(LAST_BYTES_TIME);
  }
}
