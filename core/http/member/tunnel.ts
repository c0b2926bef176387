import { keptFields } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { AttemptFailure } from './next-upstream.js';
import type { TunnelledExchange } from './tunnelled-exchange.js';
import { startResponse } from '../response/response.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import { OpenTunnel } from './open-tunnel.js';

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

/** After an upgrade. Nothing may move for proxy_read_timeout at most. */
class UpgradedTunnel extends OpenTunnel {
  protected readonly timeoutText = 'upstream timed out (110: Connection timed out) while proxying upgraded connection';

  constructor(
    private readonly exchange: TunnelledExchange,
    upstream: PeerConnection,
  ) {
    super(exchange.request, upstream, exchange.route.plan.readTimeout);
  }

  start(): void {
    this.touch();
  }

  protected received(length: number): void {
    this.exchange.tunnelReceived(length);
  }

  protected finish(): void {
    this.exchange.finishTunnel();
  }
}
