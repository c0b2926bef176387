import type { ClientCertificate, ClientConnection, ConnectionTls, ProxyHeader } from '../../contract/client-connection.js';

/** The client of a request that came through a proxy: everything but its address is the proxy's connection. */
export class ForwardedClient implements ClientConnection {
  constructor(
    private readonly connection: ClientConnection,
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {}

  get id(): number {
    return this.connection.id;
  }
  get acceptedAt(): number {
    return this.connection.acceptedAt;
  }
  get isPipelined(): boolean {
    return this.connection.isPipelined;
  }
  get localAddress(): string {
    return this.connection.localAddress;
  }
  get localPort(): number {
    return this.connection.localPort;
  }
  get secure(): boolean {
    return this.connection.secure;
  }
  get requests(): number {
    return this.connection.requests;
  }
  get serverName(): string | undefined {
    return this.connection.serverName;
  }
  get tls(): ConnectionTls | undefined {
    return this.connection.tls;
  }
  get certificate(): ClientCertificate | undefined {
    return this.connection.certificate;
  }
  get clientAuthority(): string | undefined {
    return this.connection.clientAuthority;
  }
  get proxy(): ProxyHeader | undefined {
    return this.connection.proxy;
  }
}
