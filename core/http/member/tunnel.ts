import { keptFields } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { AttemptFailure } from './next-upstream.js';
import type { TunnelledExchange } from './tunnelled-exchange.js';
import type { Tunnel } from '../request/client-stream.js';
import { startResponse } from '../response/response.js';
import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';

/** Bytes one side's socket may hold before the other side has to wait. */
const HIGH_WATER = 131_072;

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
  #open = true;

  constructor(
    private readonly exchange: TunnelledExchange,
    private readonly upstream: PeerConnection,
  ) {}

  start(): void {
    this.#touch();
  }

  fromClient(chunk: Buffer): void {
    this.#touch();
    this.upstream.writeBytes(chunk);
    if (this.upstream.socket.writableLength > HIGH_WATER) this.exchange.request.stream.pauseTunnel();
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
    this.upstream.socket.resume();
  }

  onConnected(): void {}

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    this.#touch();
    this.exchange.tunnelReceived(chunk.length);
    const { request } = this.exchange;
    request.stream.writeTunnel(request, borrowed ? Buffer.from(chunk) : chunk);
    if (request.stream.isBehind) this.upstream.socket.pause();
  }

  onUpstreamDrain(): void {
    this.exchange.request.stream.resumeTunnel();
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
    this.exchange.finishTunnel();
    request.stream.endTunnel(request, false);
  }
}
