import { Socket } from 'node:net';
import type { Connection, ConnectingUser } from '../connection.js';
import { isStream } from './stream-of.js';

/** A socket that knows its user: the handlers below are shared by all sockets, so none costs a closure. */
type ClientSocket = Connection & Socket;

/** Sends what happens on a socket to its user. Bytes come from elsewhere, see {@link readStream} and {@link onRead}. */
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

/** Begins to read, where a socket reads into memory of its own, and has no reader yet. */
export function readStream(connection: Connection): void {
  if (isStream(connection) && connection.listenerCount('data') === 0) connection.on('data', onData);
}

/** Sends what happens on a socket that connects to one user, for as long as it lives. */
export function follow(socket: Socket, user: ConnectingUser): Socket {
  socket.on('end', () => user.onEnd());
  socket.on('error', (error) => user.onError(error));
  socket.on('close', () => user.onClose());
  socket.on('drain', () => user.onDrain());
  return socket;
}

/** A connection that is not made, and fails as others do. */
export function rejectedConnection(error: Error, user: ConnectingUser): Connection {
  return follow(new Socket().destroy(error), user);
}

function onData(this: ClientSocket, chunk: Buffer): void {
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
