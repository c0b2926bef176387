/** Connections and datagrams of modules, for protocols that no client of the core speaks. */
import type { Duplex } from 'node:stream';
import type { Address } from './address.js';
import type { UpstreamTls } from './upstream-tls.js';

/**
 * - `network`: the system reports it: reset, unreachable …
 * - `shortage`: this machine has no descriptor, no port or no memory for it: nothing is known of the other side.
 * - `rejected`: the address is one of the control plane, see {@link ControlPlaneGuard}.
 * - `handshake`: TLS could not be agreed on.
 * - `certificate`: the one of the server is not valid, or not for the name.
 */
export type SocketFailure = 'network' | 'shortage' | 'rejected' | 'handshake' | 'certificate';

/** Why there is no connection, or none any more. Its message is for operators, in nginx's words: `connect() failed (111: Connection refused)`. */
export class SocketError extends Error {
  constructor(
    readonly failure: SocketFailure,
    message: string,
  ) {
    super(message);
  }
}

/** TLS of a connection. The same object is to be used for all connections of one kind: certificates are read, and sessions kept, once for it. */
export interface SocketTls {
  /** Without `certificates`. */
  readonly settings: UpstreamTls;
  /** Name or address that the certificate of the server has to be for. */
  readonly name: string;
}

/** Handles what happens on a connection. Nothing is called before the call that makes the connection has returned. */
export interface SocketUser {
  /** The server is reached, and the handshake of TLS begins. */
  onReached?(): void;
  /** The connection is made, with TLS the handshake is over as well. @param protocol chosen by ALPN */
  onOpen(protocol: string | undefined): void;
  /** @param bytes are valid during the call */
  onData(bytes: Buffer): void;
  /** The other side sends nothing more. */
  onEnd(): void;
  /** The last call, after each connection. Undefined: no failure is known of. */
  onClosed(failure: SocketError | undefined): void;
  /** A write has returned false, and everything has left since. */
  onDrain?(): void;
}

/** A connection of a module. Nothing may be written before {@link SocketUser.onOpen}. */
export interface ModuleSocket {
  /** Bytes that wait for the other side. */
  readonly writableLength: number;
  /** Sends text of single bytes. @returns false: nothing more should be written before {@link SocketUser.onDrain} */
  write(text: string, encoding: 'latin1'): boolean;
  /** Sends bytes, which must not be changed before they have left. @param sent called when they have, or never will */
  write(bytes: Uint8Array, sent?: (error?: Error | null) => void): boolean;
  /** Nothing more will be written. */
  end(): unknown;
  /** Closes at once. */
  destroy(): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** A connection as a stream. It emits `reached` and `connect`, as {@link SocketUser} has them, and errors that are {@link SocketError}. */
export interface SocketStream extends Duplex {
  /** The protocol chosen by ALPN, from `connect` on. */
  readonly protocol: string | undefined;
}

/** Handles what a socket for datagrams receives. Nothing is called before the call that makes it has returned. */
export interface DatagramUser {
  /** @param bytes a datagram, also an empty one; they are valid during the call */
  onDatagram(bytes: Buffer): void;
  /** The system reports an error. Nothing is closed: `ECONNREFUSED` says that there was no listener at that moment. */
  onFailed(failure: SocketError): void;
}

export interface DatagramSocket {
  /** Sends a datagram. False: it was dropped, because too much waits to be sent. */
  send(bytes: Buffer): boolean;
  close(): void;
}

/**
 * Opens connections and sends datagrams, in each thread with the event method that is used there. Addresses are numeric: {@link HostNames} looks
 * names up. Connections to the control plane are rejected. The caller limits the time, and closes what it has opened. Since api `'1.2'`.
 */
export abstract class Sockets {
  /** Begins to connect. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  abstract connect(address: Address, user: SocketUser, tls?: SocketTls): ModuleSocket;
  /** As {@link connect}, for libraries that need a stream of Node.js. */
  abstract stream(address: Address, tls?: SocketTls): SocketStream;
  /** A socket that sends datagrams to one address, from any port, and receives those of it alone. */
  abstract datagrams(address: { readonly host: string; readonly port: number }, user: DatagramUser): DatagramSocket;
}
