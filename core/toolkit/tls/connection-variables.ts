/** What the TLS handshake with a client has agreed on, in the variables of both engines. */
import type { ClientConnection, ConnectionTls } from '../http.js';
import type { Getter } from '../template.js';

/** What is known of a client: a request or a session. */
interface OfConnection {
  readonly connection: Pick<ClientConnection, 'serverName' | 'tls'>;
}

export const connectionVariables: Readonly<Record<string, Getter<OfConnection>>> = {
  ssl_protocol: ofTls(({ protocol }) => protocol),
  ssl_cipher: ofTls(({ cipher }) => cipher),
  ssl_server_name: ({ connection }) => connection.serverName,
  ssl_session_reused: ofTls(({ isReused }) => (isReused ? 'r' : '.')),
  ssl_alpn_protocol: ofTls(({ alpn }) => alpn),
};

function ofTls(read: (tls: ConnectionTls) => string | undefined): Getter<OfConnection> {
  return ({ connection }) => connection.tls && read(connection.tls);
}
