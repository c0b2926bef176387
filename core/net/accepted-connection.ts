import type { ClientCertificate, ConnectionEnd, ConnectionTls, ProxyHeader } from '../module/http.js';
import type { ClientSocket } from './socket-user.js';

/** A connection that a listener has accepted: its socket and what its preludes have found out, for the engine that serves it. */
export class AcceptedConnection {
  /** What came in front of it by the PROXY protocol, also if it names no addresses; undefined: the listener expects none. */
  proxy: ProxyHeader | undefined = undefined;
  /** It speaks TLS. On a TLS port all do but those that are told so. */
  secure = false;
  tls: ConnectionTls | undefined = undefined;
  /** The protocol chosen by ALPN (RFC 7301); undefined: the client offered none. */
  alpn: string | undefined = undefined;
  /** Its first bytes are the preface of HTTP/2. */
  prefersHttp2 = false;
  /** The host name that the client asked for (SNI), in lower case. */
  serverName: string | undefined = undefined;
  /** What the handshake asked for a certificate of, and the certificate. */
  clientAuthority: string | undefined = undefined;
  certificate: ClientCertificate | undefined = undefined;
  /** How many preludes have begun. The listener's. */
  preludes = 0;

  constructor(
    /** The socket to read from and write to: behind TLS it is another one. */
    public socket: ClientSocket,
    /** As it was when the connection was accepted: the socket forgets it with a reset, and access rules depend on it. */
    readonly remoteAddress: string,
    /** What the client connected to. The socket forgets that as well. */
    private readonly local: ConnectionEnd,
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
