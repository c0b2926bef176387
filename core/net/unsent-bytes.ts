import type { Connection } from './transport/connection.js';

/** Internals of a socket that are used here. */
interface SocketInside {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/**
 * A measure of what the other side still has to take: it falls with every byte that leaves, also within one large write, which
 * `writableLength` counts as a whole until its end. The second part is what Node's own `setTimeout` of a socket looks at; without it this
 * is still right, but sees the progress of whole writes only.
 */
export function unsentBytes(socket: Connection): number {
  const { _handle } = socket as unknown as SocketInside;
  return socket.writableLength + (_handle?.writeQueueSize ?? 0);
}
