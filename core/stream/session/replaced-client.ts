import type { ClientCertificate, ConnectionTls, ProxyHeader } from '../../contract/client-connection.js';
import type { SessionClient } from '../../contract/stream.js';

/** A client with another address than the one that is connected. */
export class ReplacedClient implements SessionClient {
  constructor(
    private readonly connected: SessionClient,
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {}

  get id(): number {
    return this.connected.id;
  }
  get localAddress(): string {
    return this.connected.localAddress;
  }
  get localPort(): number {
    return this.connected.localPort;
  }
  get secure(): boolean {
    return this.connected.secure;
  }
  get serverName(): string | undefined {
    return this.connected.serverName;
  }
  get tls(): ConnectionTls | undefined {
    return this.connected.tls;
  }
  get proxy(): ProxyHeader | undefined {
    return this.connected.proxy;
  }
  get certificate(): ClientCertificate | undefined {
    return this.connected.certificate;
  }
  get clientAuthority(): string | undefined {
    return this.connected.clientAuthority;
  }
}
