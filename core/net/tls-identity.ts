import type { EventEmitter } from 'node:events';
import type { SecureContext } from 'node:tls';

/** How a server presents itself in a handshake. */
export interface TlsIdentity {
  /** Certificates, versions, ciphers, ticket keys. */
  readonly context: SecureContext;
  /** Protocols to choose from by ALPN, in the form of the wire (RFC 7301, 3.1); the first one that the client offers is spoken. */
  readonly alpn: Buffer;
  /** Clients are asked for a certificate; undefined: they are not. */
  readonly clientAuthority: string | undefined;
  /** Handshakes are rejected. */
  readonly rejects: boolean;
  /** Undefined: clients resume with tickets or not at all. */
  readonly sessions: SessionKeeper | undefined;
}

/** Keeps sessions under their ids. */
export interface SessionKeeper {
  /**
   * Something with the events `newSession` and `resumeSession` of tls.Server, for one connection.
   * @param offered the session of TLS 1.3 that the client offers: Node itself knows where TLS 1.2 has it
   */
  eventsFor(offered: string): EventEmitter;
}

/** Knows the servers behind one address. */
export interface TlsIdentities {
  /** @param serverName what the client asked for, in lower case; empty: nothing. Undefined: nobody there has a certificate. */
  tlsFor(serverName: string): TlsIdentity | undefined;
  /** @param isReused the client has resumed a session */
  onHandshake(isReused: boolean): void;
  onHandshakeFailed(): void;
}

/** A list of protocols as ALPN carries it. */
export function alpnList(protocols: readonly string[]): Buffer {
  return Buffer.concat(protocols.map((name) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1')])));
}
