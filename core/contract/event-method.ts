/** How a worker uses the sockets of the system (`use` of the block `events`). */
export abstract class EventMethod {
  /** The method of connections to come: `epoll` or `node`. */
  abstract readonly method: string;
  /** Reads and writes of several connections are made by one call of the system (`io_uring` of the block `events`). */
  abstract readonly usesRing: boolean;
  /** Events that were reported for a number that had been given to another socket, or to none, and that were dropped. */
  abstract readonly staleEvents: number;
}
