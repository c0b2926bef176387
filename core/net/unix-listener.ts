import type { Connection } from './transport/connection.js';
import type { ListeningSocket } from './transport/listening.js';
import { NodeTransport } from './transport/transport.js';

/** Bytes of a read. */
const READ_SIZE = 65_536;

/**
 * Listens on a unix socket between processes of one server, which no configuration chooses a transport for.
 * @param accepted gets each connection, and sets its `client` before it returns
 * @throws Error of the system (rejects)
 */
export function listenOnPath(path: string, accepted: (connection: Connection) => void): Promise<ListeningSocket> {
  const place = { host: '', port: 0, path, ipv6Only: false, shared: false, descriptor: undefined, backlog: 511, secure: false };
  return new NodeTransport().listen(
    { ...place, buffer: Buffer.allocUnsafeSlow(READ_SIZE) },
    { onAccepted: accepted, onAcceptFailed: () => undefined, newMemory: () => undefined },
  );
}
