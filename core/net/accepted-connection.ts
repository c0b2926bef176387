import type { ClientCertificate, ConnectionEnd, ConnectionTls, ProxyHeader } from '../contract/client-connection.js';
import type { Connection } from './transport/connection.js';

/** A connection that a listener has accepted: its socket and what its preludes have found out, for the engine that serves it. */
export class AcceptedConnection {
  /** Header of the PROXY protocol, also without addresses; undefined: the listener expects none. */
  proxy: ProxyHeader | undefined = undefined;
  /** It uses TLS. On a TLS port all do, except connections that are marked. */
  secure = false;
  tls: ConnectionTls | undefined = undefined;
  /** The protocol chosen by ALPN (RFC 7301); undefined: the client offered none. */
  alpn: string | undefined = undefined;
  /** Its first bytes are the preface of HTTP/2. */
  prefersHttp2 = false;
  /** The host name that the client asked for (SNI), in lower case. */
  serverName: string | undefined = undefined;
  /** Authority of certificates that the handshake requested, and the certificate. */
  clientAuthority: string | undefined = undefined;
  certificate: ClientCertificate | undefined = undefined;
  /** How many preludes have begun. The listener's. */
  preludes = 0;

  constructor(
    /** The socket to read from and write to: another one with TLS. */
    public socket: Connection,
    /** As it was when the connection was accepted: the socket forgets it with a reset, and access rules depend on it. */
    readonly remoteAddress: string,
    /** Address that the client connected to. The socket forgets that as well. */
    private readonly local: ConnectionEnd,
    /** Milliseconds since 1970. */
    readonly acceptedAt: number,
  ) {}

  get remotePort(): number {
    return this.socket.remotePort ?? 0;
  }
  get localAddress(): string {
    return this.local.address;
  }
  get localPort(): number {
    return this.local.port;
  }
}
