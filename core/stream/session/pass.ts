import { formatAddress, type Address } from '../../contract/address.js';
import { DONE, STREAM_INTERNAL_ERROR, STREAM_OK, type StreamResult } from '../../contract/stream.js';
import type { Session } from './session.js';

/** How often a connection may be passed on: servers may pass it in a circle (NGX_STREAM_PASS_MAX_PASSES). */
const MAX_PASSES = 10;

/** Passes the connection of a session on to the listener of another server. */
export function passSession(session: Session, address: Address): StreamResult {
  const { client, context } = session;
  const fail = (text: string, status: StreamResult): StreamResult => {
    context.log.write('error', text, session);
    return status;
  };
  if (client.passes === undefined || client.passTo === undefined) return fail('cannot pass udp connection', STREAM_INTERNAL_ERROR);
  if (client.passes >= MAX_PASSES) return fail('stream pass cycle', STREAM_INTERNAL_ERROR);
  const listener = context.listeners.find(address);
  if (listener === undefined) return fail(`port not found for "${formatAddress(address)}"`, STREAM_OK);
  session.isPassed = true;
  session.leaveToClient();
  client.passTo(listener, address, session.connection, () => session.end(STREAM_OK));
  return DONE;
}
