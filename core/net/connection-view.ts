import type { ClientCertificate, ClientConnection, ConnectionTls, ProxyHeader } from '../contract/client-connection.js';

/** Facts that do not depend on the client's address. */
export type ConnectionFact = 'localAddress' | 'localPort' | 'secure' | 'serverName' | 'tls' | 'certificate' | 'clientAuthority' | 'proxy';

/** A connection as modules see it: the facts of another object, as they are when one asks. */
export abstract class ConnectionView<C extends Pick<ClientConnection, ConnectionFact>> {
  constructor(protected readonly seen: C) {}

  get localAddress(): string {
    return this.seen.localAddress;
  }
  get localPort(): number {
    return this.seen.localPort;
  }
  get secure(): boolean {
    return this.seen.secure;
  }
  get serverName(): string | undefined {
    return this.seen.serverName;
  }
  get tls(): ConnectionTls | undefined {
    return this.seen.tls;
  }
  get certificate(): ClientCertificate | undefined {
    return this.seen.certificate;
  }
  get clientAuthority(): string | undefined {
    return this.seen.clientAuthority;
  }
  get proxy(): ProxyHeader | undefined {
    return this.seen.proxy;
  }
}
