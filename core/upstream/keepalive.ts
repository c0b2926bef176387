import type { Clock } from '../net/clock.js';
import type { Timed, TimerWheel } from '../net/timers.js';
import type { UpstreamMemory } from './upstream-memory.js';
import { IdleEntry, type IdleConnection } from './idle-entry.js';
import type { Peer } from './peer.js';

/** Times in milliseconds. */
export interface KeepaliveSettings {
  readonly connections: number;
  /** Connections are only used again for the scope (location) they were made for. */
  readonly local: boolean;
  readonly requests: number;
  readonly time: number;
  readonly timeout: number;
}

/** Defaults of an upstream (nginx 1.29.7 and later). */
export const DEFAULT_KEEPALIVE: KeepaliveSettings = { connections: 32, local: true, requests: 1000, time: 3_600_000, timeout: 60_000 };

/**
 * The idle connections of one upstream in one thread (keepalive, keepalive_requests, keepalive_time, keepalive_timeout). When there are too
 * many, the one unused longest is closed. Taking and putting allocate nothing once the pool has had its largest size.
 */
export class KeepalivePool implements Timed {
  deadline = 0;
  slot = -1;
  #size = 0;
  #newest: IdleEntry | undefined = undefined;
  #oldest: IdleEntry | undefined = undefined;
  #unused: IdleEntry | undefined = undefined;
  #closed = false;
  readonly #onClosed = (connection: IdleConnection): void => this.#forget(connection);

  constructor(
    private settings: KeepaliveSettings,
    private readonly memory: UpstreamMemory,
    private readonly worker: number,
    private readonly clock: Clock,
    private readonly timers: TimerWheel | undefined,
  ) {}

  get size(): number {
    return this.#size;
  }

  /** Other settings: what they do not allow any more is closed. */
  configure(settings: KeepaliveSettings): void {
    this.settings = settings;
    while (this.#size > settings.connections && this.#oldest !== undefined) this.#discard(this.#oldest);
    this.#expire();
  }

  /**
   * An idle connection to the member, the one used last, or undefined.
   * @param scope the location, for `keepalive … local`
   * @param tls it is spoken in the same way, with the same certificate; undefined: not at all
   */
  take(peer: Peer, scope: object | undefined, tls?: object): IdleConnection | undefined {
    const { local, timeout } = this.settings;
    for (let entry = peer.idle; entry !== undefined; entry = entry.olderOfPeer) {
      if ((local && entry.scope !== scope) || entry.connection?.tls !== tls) continue;
      if (this.clock.now - entry.since >= timeout) return undefined;
      const { connection } = entry;
      this.#remove(entry);
      return connection;
    }
    return undefined;
  }

  /** Keeps a connection whose response has been read completely. False if it is not to be kept: it is closed then. */
  put(peer: Peer, connection: IdleConnection, scope: object | undefined): boolean {
    const { connections, requests, time, local } = this.settings;
    if (
      this.#closed ||
      connections === 0 ||
      peer.removed ||
      connection.requests >= requests ||
      this.clock.now - connection.createdAt >= time
    ) {
      connection.close();
      return false;
    }
    if (this.#size >= connections && this.#oldest !== undefined) this.#discard(this.#oldest);
    this.#add(peer, connection, local ? scope : undefined);
    connection.park(this.#onClosed);
    return true;
  }

  /** A connection that carries several requests at once may carry another one. */
  mayGoOn({ requests, createdAt }: Pick<IdleConnection, 'requests' | 'createdAt'>): boolean {
    return !this.#closed && requests < this.settings.requests && this.clock.now - createdAt < this.settings.time;
  }

  /** A connection that was made for one scope may serve another one. */
  isShared(scope: object | undefined, other: object | undefined): boolean {
    return scope === other || !this.settings.local;
  }

  /** Closes the idle connections to a member that is removed. */
  drop(peer: Peer): void {
    while (peer.idle !== undefined) this.#discard(peer.idle);
  }

  /** Closes all; from now on none is kept. */
  close(): void {
    this.#closed = true;
    while (this.#oldest !== undefined) this.#discard(this.#oldest);
    this.timers?.forget(this);
  }

  onDeadline(): void {
    this.#expire();
  }

  /** Closes what has been idle too long, and waits for the next one. */
  #expire(): void {
    const { timeout } = this.settings;
    while (this.#oldest !== undefined && this.clock.now - this.#oldest.since >= timeout) this.#discard(this.#oldest);
    if (this.#oldest !== undefined) this.timers?.arm(this, this.#oldest.since + timeout - this.clock.now);
    else this.timers?.disarm(this);
  }

  #add(peer: Peer, connection: IdleConnection, scope: object | undefined): void {
    const entry = this.#unused ?? new IdleEntry();
    this.#unused = entry.older;
    entry.connection = connection;
    entry.peer = peer;
    entry.scope = scope;
    entry.since = this.clock.now;
    entry.newer = undefined;
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    entry.newerOfPeer = undefined;
    entry.olderOfPeer = peer.idle;
    if (peer.idle !== undefined) peer.idle.newerOfPeer = entry;
    peer.idle = entry;
    this.#size++;
    this.memory.addIdle(this.worker, 1);
    if (this.deadline === 0) this.timers?.arm(this, this.settings.timeout);
  }

  #remove(entry: IdleEntry): void {
    const { newer, older, newerOfPeer, olderOfPeer, peer } = entry;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newerOfPeer !== undefined) newerOfPeer.olderOfPeer = olderOfPeer;
    else if (peer !== undefined) peer.idle = olderOfPeer;
    if (olderOfPeer !== undefined) olderOfPeer.newerOfPeer = newerOfPeer;
    entry.connection = undefined;
    entry.peer = undefined;
    entry.scope = undefined;
    entry.older = this.#unused;
    this.#unused = entry;
    this.#size--;
    this.memory.addIdle(this.worker, -1);
  }

  #discard(entry: IdleEntry): void {
    const { connection } = entry;
    this.#remove(entry);
    connection?.close();
  }

  /** It was closed from the other side. */
  #forget(connection: IdleConnection): void {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) {
      if (entry.connection !== connection) continue;
      this.#remove(entry);
      return;
    }
  }
}
