import type { ReadMemory } from '../read-memory.js';
import type { SecuringUser, ServerHandshake } from './tls.js';

/** Handles the bytes and the end of a connection. Another user takes it over by a single store, see {@link Connection.client}. */
export interface ConnectionUser {
  /** @param borrowed the bytes are only valid during the call. */
  onData(chunk: Buffer, borrowed: boolean): void;
  /** The other side sent FIN. */
  onEnd(): void;
  /** Follows each end, also that of a connection which was never made. */
  onClose(): void;
  /** Everything that was written has left, after a write that found no room. */
  onDrain(): void;
}

/** Handles a connection that is made. */
export interface ConnectingUser extends ConnectionUser {
  onConnect(): void;
  /** {@link onClose} follows. @param error as Node.js has it, with `code`, `errno` and `syscall` */
  onError(error: NodeJS.ErrnoException): void;
}

/** Follows what a connection passes on, see {@link Connection.passTo}. */
export interface PassingUser {
  /** Most bytes of the next step; 0: they are read. */
  readonly most: number;
  /** @param rest bytes that the other connection has not accepted, which are left to the user: the last ones of `count` */
  onPassed(count: number, rest: Buffer | undefined): void;
}

/** Results of {@link Connection.sendFile}. */
export const enum FileSending {
  NoRoom = -1,
  Impossible = -2,
}

/**
 * A connection over TCP or a unix socket, with or without TLS: what engines use of it. Sockets of Node.js have this form as they are, so that the
 * seam costs nothing there. Bytes go to the user within the turn of the event loop in which they come.
 */
export interface Connection {
  client?: ConnectionUser | undefined;
  /** Memory of reads, if it is not the buffer that all connections share. */
  memory?: ReadMemory | undefined;
  /** Undefined after a reset. */
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  /** Number of its socket; undefined: it is not known. */
  readonly descriptor?: number | undefined;
  /** Nothing more comes of it: {@link ConnectionUser.onClose} was called, or is about to be. */
  readonly destroyed: boolean;
  readonly closed: boolean;
  /** Why it was destroyed. */
  readonly errored: Error | null;
  /** Nothing more may be written. */
  readonly writableEnded: boolean;
  /** Bytes that wait for room; a write that leaves after the events of its group is not counted: `destroySoon` does not lose it, whatever this says. */
  readonly writableLength: number;
  /** A write found no room; `onDrain` follows. */
  readonly writableNeedDrain: boolean;

  /** Sends text of single bytes. @returns false: nothing more should be written before `onDrain` */
  write(text: string, encoding: 'latin1'): boolean;
  /** Sends bytes, which must not be changed before they have left. @param taken called when they have, or never will */
  write(bytes: Uint8Array, taken?: (error?: Error | null) => void): boolean;
  /** Sends text of single bytes, and bytes after it, which are its own again when it returns. Absent: they are joined before. */
  writeBoth?(text: string, bytes: Buffer, from: number, to: number): boolean;
  /**
   * Sends text of single bytes, and a part of a file after it, below 2 GiB. Undefined, or false: nothing is sent; it cannot be done with this
   * connection, or the part has to be read from a disk, or is missing.
   */
  writeFile?(text: string, file: number, from: number, count: number): boolean;
  /** Sends as many bytes as the system accepts at once. Undefined: it cannot be done with this connection. @returns how many */
  writeNow?(bytes: Buffer): number;
  /**
   * Sends bytes of a file after everything written, as far as the system accepts them. Absent, or {@link FileSending.Impossible}: it cannot be done
   * with this connection, or this file.
   * @returns how many; 0: the file has no more; {@link FileSending.NoRoom}: `onDrain` or `onClose` follows
   */
  sendFile?(file: number, from: number, count: number): number;
  /**
   * Bytes that it receives go to another connection from now on, without being read: in place of `onData` there is {@link PassingUser.onPassed}. While
   * something waits to be sent there, they are read as before. Absent, or false: it cannot be done with these two.
   */
  passTo?(target: Connection, user: PassingUser): boolean;
  /** Undoes {@link passTo}. */
  endPassing?(): void;
  /** Writes wait until as many calls of {@link uncork}, and leave together. */
  cork(): void;
  uncork(): void;
  /** Sends FIN after what is written. */
  end(): unknown;
  /** Closes at once. */
  destroy(error?: Error): unknown;
  /** Closes when everything written has left. */
  destroySoon(): void;
  pause(): unknown;
  resume(): unknown;
  isPaused(): boolean;
  /** Probes of the system (SO_KEEPALIVE). @param idle milliseconds; as {@link interval}. 0 or undefined: the system's */
  setKeepAlive(on: boolean, idle?: number, interval?: number, count?: number): unknown;
  /** A process with nothing else to wait for may end. Absent: it does not keep it. */
  unref?(): unknown;
  once(event: 'close', listener: () => void): unknown;
  /**
   * See `acceptTls` of transport.ts. Undefined or false: it cannot, and TLS of Node.js is put on it.
   * @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used
   */
  acceptTls?(handshake: ServerHandshake, user: SecuringUser): boolean;
}
