import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';
import type { RequestOwner, Tunnel } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { TunnelFlows } from './tunnel-flows.js';

/** A client and its server, joined byte for byte. It ends as a whole when either side closes, or nothing moves any more. */
export abstract class OpenTunnel implements Tunnel, PeerUser, RequestOwner {
  readonly outlivesClient = false;
  /** Written to the log when nothing moves any more. */
  protected abstract readonly timeoutText: string;
  protected isOpen = true;
  readonly #flows: TunnelFlows;

  /** @param idleTimeout milliseconds without a byte */
  constructor(
    protected readonly request: Request,
    protected readonly upstream: PeerConnection,
    private readonly idleTimeout: number,
  ) {
    this.#flows = new TunnelFlows(request, upstream, this);
  }

  /** Bytes of the server have come. */
  protected abstract received(length: number): void;
  /** Closes the accounts, and the connection to the server when the last data of the client have left. */
  protected abstract finish(): void;

  // The client's side.

  fromClient(chunk: Buffer, borrowed: boolean): void {
    if (this.isOpen) this.#flows.fromClient(chunk, borrowed);
  }

  clientEnded(): void {
    this.close(false);
  }
  clientClosed(): void {
    this.close(false);
  }
  abort(): void {
    this.close(false);
  }
  discard(): void {
    this.close(true);
  }
  onDrain(): void {
    this.#flows.clientDrained();
  }

  // From the flows.

  onSent(): void {
    this.touch();
  }
  onReceived(length: number): void {
    this.touch();
    this.received(length);
  }

  // The side of the server.

  onConnected(): void {}

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    this.#flows.fromServer(chunk, borrowed);
  }

  onUpstreamDrain(): void {
    this.#flows.serverDrained();
  }
  onUpstreamEnd(): void {
    this.close(false);
  }
  onUpstreamClosed(_reason: string): void {
    this.close(false);
  }
  onUpstreamTimeout(): void {
    this.request.context.log.write('info', this.timeoutText, this.request);
    this.close(true);
  }

  /** Something moves. */
  protected touch(): void {
    this.upstream.context.timers.arm(this.upstream, this.idleTimeout);
  }

  /** @param isBroken a side was cut off (`$request_completion`) */
  protected close(isBroken: boolean): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const { request } = this;
    request.completed = !isBroken;
    this.#flows.stop();
    this.finish();
    request.stream.endTunnel(request, isBroken);
  }
}
