import type { IdleConnection } from './keepalive.js';
import type { Peer } from './peer.js';

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
