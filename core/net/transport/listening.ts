import type { ReadMemory } from '../read-memory.js';
import type { Connection } from './connection.js';

/** Options of a socket that listens, of which sockets of Node.js have none. Undefined: the system's default. */
export interface ListenTuning {
  /** Bytes (SO_RCVBUF, SO_SNDBUF). Connections have them from the socket. */
  readonly receiveBuffer: number | undefined;
  readonly sendBuffer: number | undefined;
  /** TCP_DEFER_ACCEPT. */
  readonly deferred: boolean;
  /** TCP_FASTOPEN: connections that may wait with data in their first packet. */
  readonly fastOpen: number | undefined;
}

/** Where a socket listens, and how. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** Path of a unix socket, which is made. */
  readonly path: string | undefined;
  readonly ipv6Only: boolean;
  /** SO_REUSEPORT: every worker has a socket of its own on this address. */
  readonly shared: boolean;
  /** A socket that is bound already; it is closed with this one. */
  readonly descriptor: number | undefined;
  /** Connections that may wait to be accepted. */
  readonly backlog: number;
  readonly tuning?: ListenTuning;
  /** TLS is put on its connections: reads get new memory each. */
  readonly secure: boolean;
  /** Where reads go to that have no memory of their own. */
  readonly buffer: Buffer;
}

/** Gets what a listening socket accepts. */
export interface ListeningUser {
  onAccepted(connection: Connection): void;
  onAcceptFailed(error: Error): void;
  /** Memory of the next connection; undefined: {@link ListenPlace.buffer}. */
  newMemory(): ReadMemory | undefined;
}

/** A socket that listens. */
export interface ListeningSocket {
  readonly descriptor: number | undefined;
  /** Of Node.js: it can be sent to another process. */
  readonly handle: unknown;
  /** Connections that may wait from now on. */
  limitQueue(backlog: number): void;
  /** Other options from now on. Absent: it has none. */
  tune?(tuning: ListenTuning): void;
  /** Accepts no more. */
  close(): void;
}
