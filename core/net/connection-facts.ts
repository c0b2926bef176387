import type { ClientCertificate, ConnectionTls, ProxyHeader } from '../contract/client-connection.js';
import type { AcceptedConnection } from './accepted-connection.js';

/** Facts about an accepted connection for modules, the same in both traffic engines. */
export abstract class ConnectionFacts {
  constructor(protected readonly accepted: AcceptedConnection) {}

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
