import type { Connection } from './transport/connection.js';
import type { Log } from '../contract/log.js';
import type { Clock } from './clock.js';
import { Descriptors, isOutOfDescriptors } from './descriptors.js';
import { systemErrorText } from '../contract/system-error.js';
import { ConnectionWatch } from './connection-watch.js';
import { IdleClients } from './idle-clients.js';

/** Counts the connections of one thread. */
export interface ConnectionCounters {
  /** Connections of clients at this moment. */
  readonly own: number;
  countAccepted(): void;
  countHandled(): void;
  countClosed(): void;
  /** A connection, or datagrams, became a session of `stream`, or that has ended. */
  countSession(change: 1 | -1): void;
  /** @param isReused the client has resumed a session of TLS */
  countHandshake(isReused: boolean): void;
  countFailedHandshake(): void;
}

/** Decides which connections one thread accepts, whatever protocol they speak: worker_connections is one limit for all traffic engines. */
export class Admission {
  readonly idleClients = new IdleClients();
  readonly watch: ConnectionWatch;
  readonly #descriptors: Descriptors;
  #streams = 0;
  /** Connections to members. */
  #members = 0;
  /** Time of the last log line about exhausted connections, by level. */
  readonly #warned = { warn: 0, alert: 0, crit: 0, error: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly counters: ConnectionCounters,
    /** Connections that the thread may have at once, to clients and upstreams (worker_connections). */
    public limit: number,
  ) {
    this.watch = new ConnectionWatch(log);
    this.#descriptors = new Descriptors(clock);
  }

  /** A connection was accepted. False: there is no room for it, and it is to be closed. */
  admit(socket: Connection): boolean {
    this.counters.countAccepted();
    if (this.#descriptors.isBeyondLimit(socket)) {
      this.#warn('crit', 'accept4() failed (24: Too many open files)');
      return false;
    }
    return this.#enters();
  }

  /** As {@link admit}, for a client whose datagrams come over an existing socket. */
  admitSession(): boolean {
    this.counters.countAccepted();
    return this.#enters();
  }

  /** The system has no connection, or no descriptor for it. */
  acceptFailed(error: Error): void {
    this.#warn(isOutOfDescriptors(error) ? 'crit' : 'alert', `accept4() failed (${systemErrorText(error)})`);
  }

  /** A session over UDP has opened a socket to its member. False: that is to be closed, because the last descriptors are kept for others. */
  admitSocket(descriptor: number | undefined): boolean {
    if (descriptor === undefined || !this.#descriptors.isBeyondLimit({ descriptor })) return true;
    this.#warn('crit', 'socket() failed (24: Too many open files), datagrams of new clients are dropped');
    return false;
  }

  /** The system has dropped a datagram that was to be sent. @param to whose */
  dropped(error: Error, to: string): void {
    this.#warn('error', `sendmsg() failed (${systemErrorText(error)}), datagrams to ${to} are dropped`);
  }

  #enters(): boolean {
    if (this.#isFull && !this.#makesRoom()) {
      this.#warn('alert', this.shortage);
      return false;
    }
    this.counters.countHandled();
    return true;
  }

  /** A connection to a member is to be opened. A text: there is no room for it. Else {@link memberClosed} has to follow. */
  rejectMember(): string | undefined {
    if (this.#isFull && !this.#makesRoom()) return this.shortage;
    this.#members++;
    return undefined;
  }

  memberClosed(): void {
    this.#members--;
  }

  /** For the log. */
  get shortage(): string {
    return `${this.limit} worker_connections are not enough`;
  }

  get #isFull(): boolean {
    return this.counters.own + this.#members >= this.limit;
  }

  /** There is room for a request that shares its connection to a member with others: it takes a place as one with its own connection would. */
  get hasRoomForStream(): boolean {
    return this.#streams < this.limit;
  }

  /** @param change 1: such a request goes to its member; -1: it is over */
  countStream(change: 1 | -1): void {
    this.#streams += change;
  }

  /** Closes the connection that is idle longest (nginx: ngx_drain_connections). False: all are at work. */
  #makesRoom(): boolean {
    const idle = this.idleClients.takeOldest();
    if (idle === undefined) return false;
    idle.drain();
    this.#warn('warn', `${this.shortage}, reusing connections`);
    return true;
  }

  /** At most once a second: the log must not be what ends the server. */
  #warn(level: 'warn' | 'alert' | 'crit' | 'error', text: string): void {
    const { clock, log } = this;
    if (clock.now - this.#warned[level] < 1000) return;
    this.#warned[level] = clock.now;
    log.write(level, text);
  }
}
