import type { Connection } from './transport/connection.js';
import { writeSync } from 'node:fs';

/** Internals of a socket that are used here. */
interface SocketInside {
  readonly _handle?: { readonly fd?: number } | null;
}

/**
 * Hands bytes to the system at once, as far as it takes them, without a request object and without a copy of borrowed memory: `write` of a
 * socket costs more than the system call for small pieces. Sockets that speak TLS, wait for something, or are closed take nothing this way.
 *
 * @returns how many it has taken; the rest, also of what failed, is for `socket.write`
 */
export function tryWrite(socket: Connection, bytes: Buffer): number {
  if (socket.writeNow !== undefined) return socket.writeNow(bytes);
  if (socket.writableLength > 0 || socket.destroyed || socket.writableEnded) return 0;
  // Asked for each time: the number is another connection's as soon as this one is closed.
  const fd = (socket as unknown as SocketInside)._handle?.fd ?? -1;
  if (fd < 0) return 0;
  try {
    return writeSync(fd, bytes);
  } catch {
    // EAGAIN waits; other errors are found, and reported, by `write`.
    return 0;
  }
}
