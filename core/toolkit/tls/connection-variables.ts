/** Result of the TLS handshake with a client, in the variables of both engines. */
import type { ClientConnection, ConnectionTls } from '../../contract/client-connection.js';
import type { Getter } from '../../contract/template.js';
import { cipherNames, groupNames, signatureNames } from './hello-names.js';

/** A client: a request or a session. */
interface OfConnection {
  readonly connection: Pick<ClientConnection, 'serverName' | 'tls'>;
}

export const connectionVariables: Readonly<Record<string, Getter<OfConnection>>> = {
  ssl_protocol: ofTls(({ protocol }) => protocol),
  ssl_cipher: ofTls(({ cipher }) => cipher),
  ssl_server_name: ({ connection }) => connection.serverName,
  ssl_session_reused: ofTls(({ isReused }) => (isReused ? 'r' : '.')),
  ssl_alpn_protocol: ofTls(({ alpn }) => alpn),
  ssl_session_id: ofTls(({ sessionId }) => sessionId),
  ssl_curve: ofTls(({ group }) => (group === 0 ? undefined : groupNames(bytesOf(group)))),
  ssl_curves: ofTls(({ offered }) => groupNames(offered.groups)),
  ssl_ciphers: ofTls(({ offered }) => cipherNames(offered.ciphers)),
  ssl_sigalgs: ofTls(({ offered }) => signatureNames(offered.signatures)),
  ssl_sigalg: ofTls(({ signature }) => signatureName(signature)),
  ssl_client_sigalg: ofTls(({ clientSignature }) => signatureName(clientSignature)),
  // Node.js does not tell them.
  ssl_ech_status: unknown,
  ssl_ech_outer_server_name: unknown,
};

function signatureName(algorithm: number): string | undefined {
  return algorithm === 0 ? undefined : signatureNames(bytesOf(algorithm));
}

/** A number as a hello has it. */
function bytesOf(number: number): string {
  return String.fromCharCode(number >> 8, number & 0xff);
}

function unknown(): undefined {
  return undefined;
}

function ofTls(read: (tls: ConnectionTls) => string | undefined): Getter<OfConnection> {
  return ({ connection }) => connection.tls && read(connection.tls);
}
