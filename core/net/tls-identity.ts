import type { EventEmitter } from 'node:events';
import type { SecureContext } from 'node:tls';

/** How a server presents itself in a handshake. */
export interface TlsIdentity {
  /** Certificates, versions, ciphers, ticket keys. */
  readonly context: SecureContext;
  /** Protocols to choose from by ALPN, in the form of the wire (RFC 7301, 3.1); the first one that the client offers is spoken. */
  readonly alpn: Buffer;
  /**
   * Keeps sessions under their ids, by the events `newSession` and `resumeSession` of tls.Server; undefined: clients resume with tickets or
   * not at all.
   */
  readonly sessions: EventEmitter | undefined;
}

/** Knows the servers behind one address. */
export interface TlsIdentities {
  /** @param serverName what the client asked for, in lower case; empty: nothing. Undefined: nobody there has a certificate. */
  tlsFor(serverName: string): TlsIdentity | undefined;
}

/** A list of protocols as ALPN carries it. */
export function alpnList(protocols: readonly string[]): Buffer {
  return Buffer.concat(protocols.map((name) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1')])));
}
