import type { Connection } from './transport/connection.js';
import { writeSync } from 'node:fs';

/** Parts of a socket of Node.js that are used here. */
interface SocketInside {
  /** It speaks TLS. */
  readonly encrypted?: boolean;
  readonly _handle?: { readonly fd?: number } | null;
}

/**
 * Hands bytes to the system at once, as far as it takes them, without a request object and without a copy of borrowed memory: `write` of a
 * socket costs more than the system call for small pieces. Nothing is taken this way by sockets of Node.js that speak TLS, or by any that waits for something or is closed.
 *
 * @returns how many it has taken; the rest, also of what failed, is for `socket.write`
 */
export function tryWrite(socket: Connection, bytes: Buffer): number {
  if (socket.writeNow !== undefined) return socket.writeNow(bytes);
  if (socket.writableLength > 0 || socket.destroyed || socket.writableEnded) return 0;
  // Asked for each time: the number is another connection's as soon as this one is closed.
  const { encrypted, _handle } = socket as unknown as SocketInside;
  if (encrypted === true) return 0;
  const fd = _handle?.fd ?? -1;
  if (fd < 0) return 0;
  try {
    return writeSync(fd, bytes);
  } catch {
    // EAGAIN waits; other errors are found, and reported, by `write`.
    return 0;
  }
}
