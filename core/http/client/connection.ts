import type { Connection } from '../../net/transport/connection.js';

/** One connection of a client, as the listener that accepted it sees it. */
export interface ServedConnection {
  readonly socket: Connection;
  /** When the oldest request under way began (epoch milliseconds), Infinity without any. */
  readonly oldestRequest: number;
  /** Ends after what is under way (graceful quit, a listener that is removed). */
  drain(): void;
}
