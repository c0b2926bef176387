import type { ClientCertificate, ClientConnection, ConnectionTls, ProxyHeader } from '../../module/http.js';
import type { AcceptedConnection } from '../../net/accepted-connection.js';
import type { Connection } from './connection.js';
import type { HttpServerNames } from '../site/virtual-server.js';
import type { HttpVariables } from '../site/variables.js';

/** The address that accepted a connection, as its connections see it. */
export interface ConnectionListener {
  readonly address: string;
  readonly isUnix: boolean;
  readonly secure: boolean;
  /** It accepts no more, and its connections end. */
  readonly draining: boolean;
  readonly names: HttpServerNames;
  readonly variables: HttpVariables;
  readonly connections: Set<Connection>;
}

/** Facts about the client of one socket, whatever protocol it speaks. */
export class SocketClient implements ClientConnection {
  requests = 0;

  constructor(
    readonly id: number,
    private readonly accepted: AcceptedConnection,
  ) {}

  get remoteAddress(): string {
    return this.accepted.remoteAddress;
  }
  get remotePort(): number {
    return this.accepted.remotePort;
  }
  get localAddress(): string {
    return this.accepted.localAddress;
  }
  get localPort(): number {
    return this.accepted.localPort;
  }
  get secure(): boolean {
    return this.accepted.secure;
  }
  get serverName(): string | undefined {
    return this.accepted.serverName;
  }
  get tls(): ConnectionTls | undefined {
    return this.accepted.tls;
  }
  get certificate(): ClientCertificate | undefined {
    return this.accepted.certificate;
  }
  get clientAuthority(): string | undefined {
    return this.accepted.clientAuthority;
  }
  get proxy(): ProxyHeader | undefined {
    return this.accepted.proxy;
  }
}
