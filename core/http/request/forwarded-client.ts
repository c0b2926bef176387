import type { ClientConnection } from '../../contract/client-connection.js';
import { ConnectionView } from '../../net/connection-view.js';

/** The client of a request that came through a proxy: everything but its address is the proxy's connection. */
export class ForwardedClient extends ConnectionView<ClientConnection> implements ClientConnection {
  constructor(
    connection: ClientConnection,
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {
    super(connection);
  }

  get id(): number {
    return this.seen.id;
  }
  get acceptedAt(): number {
    return this.seen.acceptedAt;
  }
  get isPipelined(): boolean {
    return this.seen.isPipelined;
  }
  get requests(): number {
    return this.seen.requests;
  }
}
