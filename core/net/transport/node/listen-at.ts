import net, { type Server } from 'node:net';
import { getSystemErrorName } from 'node:util';
import type { ListenOptions } from '../../listen-options.js';
import { systemError } from '../../socket-error.js';

/** Flags of libuv. */
const IPV6_ONLY = 1;
const REUSE_PORT = 2;

/** A bound socket of Node.js. */
export interface ListeningHandle {
  readonly fd: number;
  close(): void;
  /** Fills in the address. @returns the error of a bind that came to light later, or 0 */
  getsockname?(address: object): number;
}

/** Internals of Node.js that are used here: what its own cluster module calls. */
interface NetInside {
  _createServerHandle(path: string, port: -1, type: -1): ListeningHandle | number;
  _createServerHandle(path: null, port: null, type: null, descriptor: number): ListeningHandle | number;
  /** @returns a handle, or the number of an error */
  _createServerHandle(host: string, port: number, type: 4 | 6, descriptor: undefined, flags: number): ListeningHandle | number;
}

/** Its types lack the backlog as an argument of its own. */
interface ServerInside {
  listen(socket: ListeningHandle | { readonly fd: number }, backlog: number | undefined, listening: () => void): void;
}

/**
 * Binds a socket at once.
 * @param shared SO_REUSEPORT
 * @throws Error of the system: EACCES, EADDRNOTAVAIL … Of EADDRINUSE libuv may report only when the socket listens.
 */
export function bindTcp({ host, port, ipv6Only }: Pick<ListenOptions, 'host' | 'port' | 'ipv6Only'>, shared: boolean): ListeningHandle {
  const isVersion6 = host.includes(':');
  const flags = (isVersion6 && ipv6Only ? IPV6_ONLY : 0) | (shared ? REUSE_PORT : 0);
  return made((net as unknown as NetInside)._createServerHandle(host, port, isVersion6 ? 6 : 4, undefined, flags));
}

/** Binds a unix socket. @throws Error of the system */
export function bindUnix(path: string): ListeningHandle {
  return made((net as unknown as NetInside)._createServerHandle(path, -1, -1));
}

/** A bound socket of another process or thread. @throws Error of the system */
export function adoptBound(descriptor: number): ListeningHandle {
  return made((net as unknown as NetInside)._createServerHandle(null, null, null, descriptor));
}

function made(handle: ListeningHandle | number): ListeningHandle {
  if (typeof handle === 'number') throw Object.assign(systemError(getSystemErrorName(handle)), { errno: handle });
  return handle;
}

/**
 * Does the same as `server.listen({ fd })`, or `server.listen({ host, port })` for a handle of {@link bindTcp}: that compiles expressions for
 * IPv6 addresses, which takes a thread four milliseconds. Errors are events of the server.
 */
export function listenOn(
  server: Server,
  socket: ListeningHandle | { readonly fd: number },
  backlog: number | undefined,
  listening: () => void,
): void {
  (server as unknown as ServerInside).listen(socket, backlog, listening);
}
