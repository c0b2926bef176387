/** Makes sockets: the only place that knows the implementations. The interfaces are in the files beside it. */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ReadMemory } from '../read-memory.js';
import type { Connection, ConnectingUser } from './connection.js';
import type { DatagramOptions, DatagramReceiver, Datagrams } from './datagrams.js';
import { ConnectionStream } from './connection-stream.js';
import type { ListenPlace, ListeningSocket, ListeningUser } from './listening.js';
import type { SecuringUser, ServerHandshake, TlsConnectingUser } from './tls.js';
import type { TlsContext } from './tls-context.js';
import type { FileCalls } from './epoll/file-calls.js';
import { isStream } from './node/stream-of.js';
import { detach } from './node/socket-events.js';
import { acceptTls as acceptByNode } from './node/tls/accept-tls.js';

export { NodeTransport } from './node/node-transport.js';
export { readStream, rejectedConnection } from './node/socket-events.js';

/** Where a connection leads to. Hosts are addresses, not names. */
export type Target =
  | { readonly path: string }
  | {
      readonly host: string;
      readonly port: number;
      /** Where the connection comes from. */
      readonly localAddress?: string;
      readonly localPort?: number;
    };

/** One way to use the system's sockets. */
export interface Transport {
  /** As in `use` of the configuration. */
  readonly name: 'node' | 'epoll';
  /** @throws Error of the system: EADDRINUSE, EACCES … */
  listen(place: ListenPlace, user: ListeningUser): Promise<ListeningSocket>;
  /** Begins to connect. @param memory where reads go to */
  connect(target: Target, memory: ReadMemory, user: ConnectingUser): Connection;
  /**
   * Begins to connect to a server that speaks TLS. Sockets of Node.js read into memory of their own then.
   * @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used
   */
  connectTls(target: Target, memory: ReadMemory, user: TlsConnectingUser): Connection;
  /** Begins to connect with a stream of Node.js, for libraries. It emits `connect`. */
  connectStream(target: Target, memory: ReadMemory): Duplex;
  /** Reads certificates and keys ahead of handshakes. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  prepareTls(context: TlsContext): void;
  /** Undefined: files are those of node:fs. */
  readonly files?: FileCalls | undefined;
  /** Closes a file of {@link files} that is in `OpenDescriptors`. */
  closeFile?(descriptor: number): void;
  /**
   * Reads what the system has in memory of a file. Absent: it is not known.
   * @returns how many bytes; 0: the file has no more, or it cannot be done; undefined: it would have to wait for a disk
   */
  readCached?(file: number, into: Buffer, from: number): number | undefined;
  /** The system has a part of a file in memory, as far as its ends say. */
  isCached?(file: number, from: number, count: number): boolean;
  /** A socket for datagrams that is not bound yet. @param address of the family that it is for @throws Error of the system: EMFILE … */
  datagrams(address: string, receiver: DatagramReceiver, options?: DatagramOptions): Datagrams;
}

/**
 * Speaks TLS on an accepted connection from now on, as the server.
 * @returns the connection that is used from now on in its place
 * @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used
 */
export function acceptTls(connection: Connection, handshake: ServerHandshake, user: SecuringUser): Connection {
  return connection.acceptTls?.(handshake, user) === true ? connection : acceptByNode(streamOf(connection), handshake, user);
}

/**
 * An accepted connection as a stream of Node.js, for libraries. A socket of Node.js has to read into memory of its own, see {@link ListenPlace.secure}.
 * The connection given is not used any more.
 */
export function acceptedStream(connection: Connection): Duplex {
  if (!isStream(connection)) return new ConnectionStream(connection);
  detach(connection);
  // The library begins to read.
  connection.pause();
  connection.allowHalfOpen = false;
  return connection;
}

/** A stream of Node.js. Nothing may wait to be sent, and the connection given is not used any more. */
function streamOf(connection: Connection & { toStream?(): Socket }): Socket {
  if (isStream(connection)) return connection;
  if (connection.toStream === undefined) throw new TypeError('a connection of an unknown kind');
  return connection.toStream();
}
