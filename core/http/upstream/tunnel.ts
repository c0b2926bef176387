import { keptFields } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import type { Exchange } from './exchange.js';
import { makeHead, writeText } from '../response/response.js';
import type { UpstreamConnection, UpstreamUser } from './upstream-connection.js';

/** What follows a switch of protocols (101): bytes go through as they are. */
export interface Tunnel {
  fromClient(chunk: Buffer): void;
  clientEnded(): void;
  clientClosed(): void;
}

/** Bytes one side's socket may hold before the other side is told to wait. */
const HIGH_WATER = 131_072;

/** Switches both connections of an exchange to plain bytes after a 101 (WebSocket and other upgrades). */
export function openTunnel(exchange: Exchange, head: ResponseHead, connection: UpstreamConnection, bytes: Buffer, from: number): void {
  const { request, route } = exchange;
  const upgrade = head.text.slice(0, head.end).match(/\r\nupgrade:[ \t]*([^\r\n]*)/i)?.[1] ?? '';
  request.status = 101;
  request.response.adopt(keptFields(head.text, head, route.hidden));
  request.response.set('Upgrade', upgrade);
  request.response.set('Connection', 'upgrade');
  const text = makeHead(request, -1);
  if (text === '') {
    exchange.filterFailed();
    return;
  }
  writeText(request, text);
  const tunnel = new UpgradedTunnel(exchange, connection);
  request.connection.tunnel = tunnel;
  request.owner = tunnel;
  connection.user = tunnel;
  tunnel.start(bytes.subarray(from));
}

/** Two connections joined. It ends as a whole when either side closes or nothing moves for proxy_read_timeout. */
class UpgradedTunnel implements Tunnel, UpstreamUser {
  readonly outlivesClient = false;
  #open = true;

  constructor(
    private readonly exchange: Exchange,
    private readonly upstream: UpstreamConnection,
  ) {}

  start(first: Buffer): void {
    this.#touch();
    if (first.length > 0) this.onUpstreamData(first, true);
    const early = this.exchange.request.connection.takePending();
    if (early !== undefined) this.fromClient(early);
  }

  fromClient(chunk: Buffer): void {
    this.#touch();
    this.upstream.writeBytes(chunk);
    if (this.upstream.socket.writableLength > HIGH_WATER) this.exchange.request.connection.socket.pause();
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
  onDrain(): void {
    this.upstream.socket.resume();
  }

  onConnected(): void {}

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    const { request } = this.exchange;
    this.#touch();
    request.bytesSent += chunk.length;
    request.connection.socket.write(borrowed ? Buffer.from(chunk) : chunk);
    if (request.connection.socket.writableLength > HIGH_WATER) this.upstream.socket.pause();
  }

  onUpstreamDrain(): void {
    this.exchange.request.connection.socket.resume();
  }
  onUpstreamEnd(): void {
    this.#close();
  }
  onUpstreamClosed(): void {
    this.#close();
  }
  onUpstreamTimeout(): void {
    this.exchange.request.connection.context.log.write(
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
    request.connection.endTunnel(request);
  }
}
