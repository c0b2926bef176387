import type { ConnectionTls } from '../contract/client-connection.js';
import type { AcceptedConnection } from './accepted-connection.js';
import type { TlsContext } from './transport/tls-context.js';

/** How a server presents itself in a handshake. */
export interface TlsIdentity {
  /** Certificates, versions, ciphers, ticket keys; without certificates where {@link variable} has them. */
  readonly context: TlsContext;
  /** Chooses the certificates of each handshake. */
  readonly variable: VariableContexts | undefined;
  /** Protocols to choose from by ALPN, in the form of the wire (RFC 7301, 3.1); the first one that the client offers is spoken. */
  readonly alpn: Buffer;
  /** Clients are asked for a certificate; undefined: they are not. */
  readonly clientAuthority: string | undefined;
  /** Handshakes are rejected; undefined: they are not. */
  readonly rejection: HandshakeRejection | undefined;
}

/** The contexts of a server whose certificates variables name. */
export interface VariableContexts {
  /** @param subject see {@link CertificateChooser} @returns undefined: there are no certificates @throws Error for the error log */
  contextFor(subject: object): TlsContext | undefined;
}

/** How a handshake is rejected. */
export interface HandshakeRejection {
  readonly level: 'info' | 'error';
  /** For the error log. */
  readonly reason: string;
  /** The description of a fatal alert (RFC 8446, 6). */
  readonly alert: number;
}

/** Knows the servers of one address. */
export interface TlsIdentities {
  /** @param serverName name that the client requested, in lower case; empty: none. Undefined: no server there has a certificate. */
  tlsFor(serverName: string): TlsIdentity | undefined;
  /** The context of a handshake by variables, which have the values of this connection. @throws what `contextFor` throws */
  variableContext(contexts: VariableContexts, connection: AcceptedConnection): TlsContext | undefined;
  /** @param isReused the client has resumed a session */
  onHandshake(tls: ConnectionTls): void;
  /** @param reason for the error log; empty: there is none */
  onHandshakeFailed(reason: string): void;
}

/** A list of protocols as ALPN carries it. */
export function alpnList(protocols: readonly string[]): Buffer {
  return Buffer.concat(protocols.map((name) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1')])));
}
