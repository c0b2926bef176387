import type { ClientSocket } from '../../net/socket-user.js';

/** One connection of a client, as the listener that accepted it sees it. */
export interface Connection {
  readonly socket: ClientSocket;
  /** When the oldest request under way began (epoch milliseconds), Infinity without any. */
  readonly oldestRequest: number;
  /** Ends after what is under way (graceful quit, a listener that is removed). */
  drain(): void;
}
