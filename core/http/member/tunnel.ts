import { keptFields } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { AttemptFailure } from './next-upstream.js';
import type { TunnelledExchange } from './tunnelled-exchange.js';
import type { Tunnel } from '../request/client-stream.js';
import { startResponse } from '../response/response.js';
import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';
import { TunnelFlows } from './tunnel-flows.js';

/** Switches both connections of an exchange to plain bytes after a 101 (WebSocket and other upgrades). */
export function openTunnel(exchange: TunnelledExchange, head: ResponseHead): void {
  const { request, route } = exchange;
  const connection = exchange.upgrade();
  if (connection === undefined) {
    exchange.fail(AttemptFailure.InvalidHeader, 'upstream sent 101 over a protocol without upgrades');
    return;
  }
  const upgrade = head.text.slice(0, head.end).match(/\r\nupgrade:[ \t]*([^\r\n]*)/i)?.[1] ?? '';
  request.status = 101;
  request.response.appendLines(keptFields(head.text, head, route.hidden));
  request.response.set('Upgrade', upgrade);
  request.response.appendLines('Connection: upgrade\r\n');
  if (!startResponse(request)) {
    exchange.filterFailed();
    return;
  }
  const tunnel = new UpgradedTunnel(exchange, connection);
  request.owner = tunnel;
  connection.user = tunnel;
  request.stream.openTunnel(request, tunnel);
  tunnel.start();
}

/** Two connections joined. It ends as a whole when either side closes or nothing moves for proxy_read_timeout. */
class UpgradedTunnel implements Tunnel, PeerUser {
  readonly outlivesClient = false;
  readonly #flows: TunnelFlows;
  #open = true;

  constructor(
    private readonly exchange: TunnelledExchange,
    private readonly upstream: PeerConnection,
  ) {
    this.#flows = new TunnelFlows(exchange.request, upstream, this);
  }

  start(): void {
    this.#touch();
  }

  fromClient(chunk: Buffer, borrowed: boolean): void {
    this.#flows.fromClient(chunk, borrowed);
  }

  clientEnded(): void {
    this.#close();
  }
  clientClosed(): void {
    this.#close();
  }
  abort(): void {
    this.#close();
  }
  discard(): void {
    this.#close(false);
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
    this.exchange.tunnelReceived(length);
  }

  onConnected(): void {}

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    this.#flows.fromServer(chunk, borrowed);
  }

  onUpstreamDrain(): void {
    this.#flows.serverDrained();
  }
  onUpstreamEnd(): void {
    this.#close();
  }
  onUpstreamClosed(): void {
    this.#close();
  }
  onUpstreamTimeout(): void {
    this.exchange.request.context.log.write(
      'info',
      'upstream timed out (110: Connection timed out) while proxying upgraded connection',
      this.exchange.request,
    );
    this.#close(false);
  }

  #touch(): void {
    this.upstream.context.timers.arm(this.upstream, this.exchange.route.plan.readTimeout);
  }

  /** @param completed neither side was cut off (`$request_completion`) */
  #close(completed = true): void {
    if (!this.#open) return;
    this.#open = false;
    const { request } = this.exchange;
    request.completed = completed;
    this.#flows.stop();
    this.exchange.finishTunnel();
    request.stream.endTunnel(request, false);
  }
}
