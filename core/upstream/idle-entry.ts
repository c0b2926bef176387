import type { Peer } from './peer.js';

/** An idle connection to a member. */
export interface IdleConnection {
  /** Requests it has carried. */
  readonly requests: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** How TLS is spoken, by identity; undefined: it is not. */
  readonly tls?: object | undefined;
  /** From now on it is idle. `onClosed` has to be called when it ends by itself, and not after {@link close} or when it was taken. */
  park(onClosed: (connection: IdleConnection) => void): void;
  close(): void;
}

/** A place in a pool of idle connections: made once, in use while it holds one. */
export class IdleEntry {
  connection: IdleConnection | undefined = undefined;
  peer: Peer | undefined = undefined;
  scope: object | undefined = undefined;
  /** When it became idle, epoch milliseconds. */
  since = 0;
  /** In the order of the pool; of unused entries `older` is the next one. */
  newer: IdleEntry | undefined = undefined;
  older: IdleEntry | undefined = undefined;
  /** Among the connections of its peer. */
  newerOfPeer: IdleEntry | undefined = undefined;
  olderOfPeer: IdleEntry | undefined = undefined;
}
