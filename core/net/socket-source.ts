/** Sockets that another process binds for this thread or process. */
import type { ListenOptions } from './listen-options.js';

/** Address and options to bind. Plain data: it travels between threads and processes. */
export interface SocketRequest extends Pick<ListenOptions, 'host' | 'port' | 'path' | 'udp' | 'ipv6Only' | 'mode'> {
  /** The same for what is the same socket, as {@link ListenGroup.key}. */
  readonly key: string;
  /** SO_REUSEPORT: every worker has a socket of its own on the address. */
  readonly shared: boolean;
}

/** Another thread has the only socket of an address. */
export const ELSEWHERE = 'elsewhere';

/** Where a thread that listens gets its sockets from. */
export interface SocketSource {
  /**
   * A bound socket: a descriptor that the caller owns, and closes. A worker that replaces another one gets the same socket, with the connections
   * that wait in its queue. Undefined: the caller has to bind for itself. {@link ELSEWHERE}: it does not listen there.
   * @throws Error of the system: EADDRINUSE, EACCES …
   */
  open(request: SocketRequest): Promise<number | typeof ELSEWHERE | undefined>;
  /** This thread will not ask for it any more. @param key see {@link SocketRequest.key} */
  release?: ((key: string) => void) | undefined;
}

/** Keeps addresses bound for the workers, whatever becomes of them. */
export interface SocketReservations {
  /**
   * Binds an address that this server has not bound yet.
   * @returns false: it has to be tried, see bind-probe
   * @throws Error of the system: EADDRINUSE, EACCES …
   */
  reserve(request: SocketRequest): Promise<boolean>;
  /** No worker will listen there any more. @param key see {@link SocketRequest.key} */
  release(key: string): void;
}

/** @param key see {@link SocketRequest.key} */
export function socketRequest({ host, port, path, udp, ipv6Only, mode }: ListenOptions, key: string, shared: boolean): SocketRequest {
  return { key, host, port, path, udp, ipv6Only, mode, shared };
}
