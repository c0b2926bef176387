import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';
import type { RequestOwner, Tunnel } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { TunnelFlows } from './tunnel-flows.js';

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
 * An open tunnel: a client and its server, byte for byte. A side that has sent its last byte may go on reading until the other one has as
 * well, or nothing moves any more.
 */
export class TunnelRelay implements Tunnel, PeerUser, RequestOwner {
  readonly outlivesClient = false;
  readonly #flows: TunnelFlows;
  #open = true;
  #clientEnded = false;
  #upstreamEnded = false;

  constructor(
    private readonly request: Request,
    private readonly upstream: PeerConnection,
    private readonly plan: RelayPlan,
  ) {
    this.#flows = new TunnelFlows(request, upstream, this);
  }

  start(): void {
    const { request } = this;
    this.#touch();
    if (!request.stream.openTunnel(request, this)) this.#close(true);
  }

  // The client's side.

  fromClient(chunk: Buffer, borrowed: boolean): void {
    if (this.#open) this.#flows.fromClient(chunk, borrowed);
  }

  clientEnded(): void {
    if (!this.#open || this.#clientEnded) return;
    this.#clientEnded = true;
    if (this.#upstreamEnded) this.#close(false);
    else this.upstream.socket.end();
  }

  clientClosed(): void {
    this.#close(false);
  }
  abort(): void {
    this.#close(false);
  }
  discard(): void {
    this.#close(true);
  }
  onDrain(): void {
    this.#flows.clientDrained();
  }

  // From the flows.

  onSent(): void {
    this.#touch();
  }
  onReceived(length: number): void {
    this.#touch();
    this.plan.onReceived(length);
  }

  // The side of the server.

  onConnected(): void {}

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    this.#flows.fromServer(chunk, borrowed);
  }

  onUpstreamDrain(): void {
    this.#touch();
    this.#flows.serverDrained();
  }

  onUpstreamEnd(): void {
    if (this.#upstreamEnded) return;
    this.#upstreamEnded = true;
    if (this.#clientEnded) this.#close(false);
    else this.request.stream.endTunnelOutput(this.request);
  }

  onUpstreamClosed(reason: string): void {
    const { request } = this;
    if (reason !== '') request.context.log.write('info', `${reason} while proxying connection`, request);
    this.#close(reason !== '');
  }

  onUpstreamTimeout(): void {
    const { request } = this;
    request.context.log.write('info', 'connection timed out (110: Connection timed out) while proxying connection', request);
    this.#close(true);
  }

  #touch(): void {
    this.upstream.context.timers.arm(this.upstream, this.plan.idleTimeout);
  }

  #close(isBroken: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    const { request, upstream } = this;
    request.completed = !isBroken;
    this.plan.onEnd();
    // The last data of the client is still sent.
    this.#flows.stop();
    upstream.closeSoon(LAST_BYTES_TIME);
    request.stream.endTunnel(request, isBroken);
  }
}
