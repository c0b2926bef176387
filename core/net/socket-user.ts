import type { Socket } from 'node:net';
import type { ReadMemory } from './read-memory.js';

/** Handles the bytes and the end of a client's socket. Another user takes the socket over by a single store, see {@link ClientSocket}. */
export interface SocketUser {
  /** @param borrowed the bytes are only valid during the call. */
  onData(chunk: Buffer, borrowed: boolean): void;
  /** The client sent FIN. */
  onEnd(): void;
  onClose(): void;
  onDrain(): void;
}

/** A socket that knows its user: the handlers below are shared by all sockets, so none costs a closure. */
export interface ClientSocket extends Socket {
  client?: SocketUser | undefined;
  /** Memory of reads, if it is not the buffer that all sockets share. */
  memory?: ReadMemory | undefined;
}

/** Sends what happens on a socket to its user. Bytes come from elsewhere, see {@link onData} and {@link onRead}. */
export function attach(socket: ClientSocket): void {
  socket.on('end', onEnd);
  socket.on('error', ignore);
  socket.on('close', onClose);
  socket.on('drain', onDrain);
}

/** Undoes {@link attach} for a socket that another one wraps from now on. Errors stay without effect: the wrapper reports them. */
export function detach(socket: ClientSocket): void {
  socket.client = undefined;
  socket.off('data', onData);
  socket.off('end', onEnd);
  socket.off('close', onClose);
  socket.off('drain', onDrain);
}

/** Of sockets that read into memory of their own. */
export function onData(this: ClientSocket, chunk: Buffer): void {
  this.client?.onData(chunk, false);
}

/** Of sockets that read into memory of ours. */
export function onRead(this: ClientSocket, length: number, buffer: Buffer): boolean {
  this.client?.onData(buffer.subarray(0, length), true);
  return true;
}

function onEnd(this: ClientSocket): void {
  this.client?.onEnd();
}
/** `close`, which always follows, notifies the user. */
function ignore(): void {}
function onClose(this: ClientSocket): void {
  this.client?.onClose();
}
function onDrain(this: ClientSocket): void {
  this.client?.onDrain();
}
