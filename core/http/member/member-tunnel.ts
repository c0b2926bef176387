import { startResponse } from '../response/response.js';
import { TunnelRelay } from './tunnel-relay.js';
import type { TunnelledExchange } from './tunnelled-exchange.js';

/** Joins the client of a CONNECT request with the member that was connected to. The accounts of the member end with the tunnel. */
export function openMemberTunnel(exchange: TunnelledExchange): boolean {
  const { request } = exchange;
  request.opensTunnel = true;
  request.errorStatus = 0;
  request.status = 200;
  request.statusLine = '200 Connection established';
  if (!startResponse(request)) {
    request.opensTunnel = false;
    exchange.filterFailed();
    return true;
  }
  const connection = exchange.upgrade();
  if (connection === undefined) return true;
  const relay = new TunnelRelay(request, connection, {
    idleTimeout: exchange.route.plan.readTimeout,
    onReceived: (length) => exchange.tunnelReceived(length),
    onEnd: () => exchange.finishTunnel(),
  });
  request.owner = relay;
  connection.user = relay;
  relay.start();
  return true;
}
