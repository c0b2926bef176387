import { Socket } from 'node:net';

/** A socket of Node.js, also one with TLS. */
export function isStream(connection: object): connection is Socket {
  return connection instanceof Socket;
}

/** A stream for an open socket. @param descriptor closed with it */
export function openStream(descriptor: number): Socket {
  return new Socket({ fd: descriptor, allowHalfOpen: true, readable: true, writable: true });
}
