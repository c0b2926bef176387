import type { Socket } from 'node:net';

/** Handles the bytes and the end of a client's socket. Another user takes the socket over by a single store, see {@link ClientSocket}. */
export interface SocketUser {
  /** @param borrowed the bytes are only valid during the call. */
  onData(chunk: Buffer, borrowed: boolean): void;
  /** The client sent FIN. */
  onEnd(): void;
  onClose(): void;
  onDrain(): void;
}

/** A socket that knows its user: the handlers of the listener are shared by all sockets, so none costs a closure. */
export interface ClientSocket extends Socket {
  client?: SocketUser;
}
