import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';
import type { RequestOwner, Tunnel } from '../request/client-stream.js';
import type { Request } from '../request/request.js';

/** Bytes one side's socket may hold before the other side has to wait. */
const HIGH_WATER = 131_072;
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
  #open = true;
  #clientEnded = false;
  #upstreamEnded = false;

  constructor(
    private readonly request: Request,
    private readonly upstream: PeerConnection,
    private readonly plan: RelayPlan,
  ) {}

  start(): void {
    const { request } = this;
    this.#touch();
    if (!request.stream.openTunnel(request, this)) this.#close(true);
  }

  // The client's side.

  fromClient(chunk: Buffer): void {
    if (!this.#open) return;
    this.#touch();
    this.upstream.writeBytes(chunk);
    if (this.upstream.socket.writableLength > HIGH_WATER) this.request.stream.pauseTunnel();
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
    this.upstream.socket.resume();
  }

  // The side of the server.

  onConnected(): void {}

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    const { request } = this;
    this.#touch();
    this.plan.onReceived(chunk.length);
    request.stream.writeTunnel(request, borrowed ? Buffer.from(chunk) : chunk);
    if (request.stream.isBehind) this.upstream.socket.pause();
  }

  onUpstreamDrain(): void {
    this.#touch();
    this.request.stream.resumeTunnel();
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
    // The last data of the client is still sent, and nothing is read any more.
    upstream.socket.pause();
    upstream.closeSoon(LAST_BYTES_TIME);
    request.stream.endTunnel(request, isBroken);
  }
}
