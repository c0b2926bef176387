import type { Connection } from './transport/connection.js';
import type { ListeningSocket } from './transport/listening.js';
import { NodeTransport } from './transport/transport.js';

const NOTHING = Buffer.alloc(0);

/**
 * Listens on a unix socket between processes of one server, which no configuration chooses a transport for.
 * @param accepted gets each connection, and sets its `client` before it returns
 * @throws Error of the system (rejects)
 */
export function listenOnPath(path: string, accepted: (connection: Connection) => void): Promise<ListeningSocket> {
  const place = { host: '', port: 0, path, ipv6Only: false, shared: false, descriptor: undefined, backlog: 511 };
  return new NodeTransport().listen(
    // Libraries take over some of the connections: reads get memory of their own.
    { ...place, secure: true, buffer: NOTHING },
    { onAccepted: accepted, onAcceptFailed: () => undefined, newMemory: () => undefined },
  );
}
