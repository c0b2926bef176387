import type { SecureContext, SecureContextOptions } from 'node:tls';
import type { ConnectionTls } from '../../contract/client-connection.js';
import type { KeyLog, TlsSessions } from '../../contract/manifest.js';
import type { ConnectionUser } from './connection.js';

/** Certificates, versions, ciphers, keys of tickets: what a side of TLS presents, as `tls.createSecureContext` takes it. */
export interface TlsContextOptions extends SecureContextOptions {
  /** Further authorities, in PEM; clients do not get their names. */
  readonly trusted?: readonly Buffer[] | undefined;
  readonly formerTicketKeys?: readonly Buffer[] | undefined;
  /** Clients are asked for a certificate. */
  readonly clientAuthority?: string | undefined;
  /** Certificates that may be between that of the other side and its authority. */
  readonly verifyDepth?: number | undefined;
  readonly sessions?: TlsSessions | undefined;
  readonly keyLog?: KeyLog | undefined;
}

/** Settings of a context, made into an object of each implementation when that needs it. */
export interface TlsContext {
  readonly options: TlsContextOptions;
  /** The object of Node.js. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  readonly node: SecureContext;
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
}

/** The certificate of the other side. */
export interface PresentedCertificate {
  /** In DER. */
  readonly bytes: Buffer;
  /** Why it is not valid, in OpenSSL's words; undefined: it is. */
  readonly error: string | undefined;
}

/** Waits for a handshake. */
export interface SecuringUser extends ConnectionUser {
  /** @param certificate undefined: the other side has shown none */
  onSecured(tls: ConnectionTls, certificate: PresentedCertificate | undefined): void;
  /** The connection has to be closed. @param reason for the error log, after `SSL_do_handshake() failed`; empty: the other side has closed it */
  onNotSecured(reason: string): void;
}
