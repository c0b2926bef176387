import type { ConnectionTls } from '../../contract/client-connection.js';
import type { KeyLog, TlsSessions } from '../../contract/manifest.js';
import type { TlsContextSettings } from '../../contract/tls-context.js';
import type { StapledStatus, TlsCommand } from '../../contract/tls-library.js';
import type { ConnectingUser, ConnectionUser } from './connection.js';
import type { TlsContext } from './tls-context.js';

/** Certificates, versions, ciphers, keys of tickets: what a side of TLS presents. */
export interface TlsContextOptions extends TlsContextSettings {
  /** Further authorities, in PEM; clients do not get their names. */
  readonly trusted?: readonly Buffer[] | undefined;
  readonly formerTicketKeys?: readonly Buffer[] | undefined;
  /** Early data is accepted of clients. */
  readonly earlyData?: boolean | undefined;
  /** Clients are asked for a certificate. */
  readonly clientAuthority?: string | undefined;
  /** Certificates that may be between that of the other side and its authority. */
  readonly verifyDepth?: number | undefined;
  readonly sessions?: TlsSessions | undefined;
  /** Statuses that clients get along with the certificates, in their order. */
  readonly statuses?: readonly (StapledStatus | undefined)[] | undefined;
  readonly commands?: readonly TlsCommand[] | undefined;
  readonly keyLog?: KeyLog | undefined;
  /** Connections to servers use it, too. */
  readonly client?: ClientTlsSettings | undefined;
}

/** Settings of TLS that only a client has. */
export interface ClientTlsSettings {
  /** Certificates of servers are verified as a whole, so that {@link OtherSide.problem} knows the worst. */
  readonly verifies: boolean;
  /** {@link ClientHandshake.onSession} gets sessions. */
  readonly keepsSessions: boolean;
}

/** A handshake of a server. */
export interface ServerHandshake {
  readonly context: TlsContext;
  /** Bytes of the client that were read already, in memory that is not changed. */
  readonly received: Buffer;
  /** Protocols to choose from by ALPN, in the form of the wire (RFC 7301, 3.1), the preferred one first. */
  readonly protocols: Buffer;
  /** For {@link ConnectionTls.offered}. */
  readonly offered: ConnectionTls['offered'];
  /** The session that the client offers, as `ClientHello.session` has it. */
  readonly session: string;
}

/** A handshake of a client. */
export interface ClientHandshake {
  readonly context: TlsContext;
  /** Requested by SNI; empty: none is. */
  readonly serverName: string;
  /** Protocols to offer by ALPN, in the form of the wire; empty: none. */
  readonly protocols: Buffer;
  /** A session to resume, as {@link onSession} got it. */
  readonly session: Buffer | undefined;
  /** Number of the group that this server has agreed on before, for which alone a key is made; 0: it is not known. */
  readonly group: number;
  /** Gets each session of the connection that may be resumed, in DER. */
  onSession(session: Buffer): void;
}

/** The certificate of the other side. */
export interface PresentedCertificate {
  /** In DER. */
  readonly bytes: Buffer;
  /** Why it is not valid, in OpenSSL's words; undefined: it is. */
  readonly error: string | undefined;
  /** The same as OpenSSL's number (`X509_V_ERR_…`, openssl/x509_vfy.h); 0: it is valid. */
  readonly errorNumber: number;
}

/** The other side of a handshake that is over, as long as the connection is open. */
export interface OtherSide {
  /** Undefined: it has shown none. */
  certificate(): PresentedCertificate | undefined;
  /** Why its certificate is not valid, in OpenSSL's number and words: `18:self-signed certificate`. Undefined: it is. */
  problem(): string | undefined;
  /** Its certificate is for a name or an address of IP (RFC 9525, 6). */
  isFor(name: string): boolean;
}

/** Waits for a handshake. */
export interface SecuringUser extends ConnectionUser {
  onSecured(tls: ConnectionTls, other: OtherSide): void;
  /**
   * The connection has to be closed.
   * @param reason for the error log: `SSL: ` with what OpenSSL says, or the error of the system; empty: the other side has closed it
   */
  onNotSecured(reason: string): void;
}

/** Waits for a connection to a server, and for the handshake on it: {@link onConnect} comes before the handshake. */
export interface TlsConnectingUser extends ConnectingUser, SecuringUser {
  /** Text of single bytes that is sent in front of the handshake; empty: nothing is. */
  readonly preamble: string;
  /** Makes the handshake, when it is about to begin. */
  handshake(): ClientHandshake;
}
