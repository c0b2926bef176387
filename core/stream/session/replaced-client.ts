import type { SessionClient } from '../../contract/stream.js';
import { ConnectionView } from '../../net/connection-view.js';

/** A client with another address than the one that is connected. */
export class ReplacedClient extends ConnectionView<SessionClient> implements SessionClient {
  constructor(
    connected: SessionClient,
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {
    super(connected);
  }

  get id(): number {
    return this.seen.id;
  }
}
