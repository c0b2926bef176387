/**
 * Sockets that are bound and nothing more: the process that binds them never listens on them, and so never accepts what is for another one.
 * Node.js has no public way to do this; its own cluster module takes these.
 */
import dgram, { type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { adoptBound, bindTcp, bindUnix } from './node/listen-at.js';
import { datagramHandle } from './node/datagram-handle.js';
import { systemError } from '../socket-error.js';
import type { SocketRequest } from '../socket-source.js';

/** A handle of Node.js. It can be sent to another process, which gets a socket of its own of it. */
export interface RawSocket {
  readonly fd: number;
  /** Uses an existing descriptor. @returns the number of an error, or 0 */
  open?(descriptor: number): number;
  close(): void;
  /** Fills in the address. @returns the error of a bind that came to light later, or 0 */
  getsockname?(address: object): number;
  /** Fills in the address of the other side. @returns 0: it is connected */
  getpeername?(address: object): number;
  bind?(host: string, port: number, flags: number): number;
  bind6?(host: string, port: number, flags: number): number;
}

/** Flags of libuv. */
const UDP_IPV6_ONLY = 1;
const UDP_REUSE_PORT = 64;

/** @throws Error of the system: EADDRINUSE, EACCES … */
export function bindSocket(request: Pick<SocketRequest, 'host' | 'port' | 'udp' | 'ipv6Only' | 'shared'>): RawSocket {
  return request.udp ? bindUdp(request) : bound(bindTcp(request, request.shared));
}

/** A socket that another process has bound. @throws Error of the system */
export function adoptSocket({ udp, host }: Pick<SocketRequest, 'udp' | 'host'>, descriptor: number): RawSocket {
  if (!udp) return bound(adoptBound(descriptor));
  const handle = rawHandle(dgram.createSocket(isIPv6(host) ? 'udp6' : 'udp4'));
  const error = handle.open?.(descriptor) ?? 0;
  return bound(error === 0 ? handle : error);
}

/** @throws Error of the system */
export function bindUnixSocket(path: string): RawSocket {
  return bound(bindUnix(path));
}

function bindUdp({ host, port, ipv6Only, shared }: Pick<SocketRequest, 'host' | 'port' | 'ipv6Only' | 'shared'>): RawSocket {
  const isVersion6 = isIPv6(host);
  const handle = rawHandle(dgram.createSocket(isVersion6 ? 'udp6' : 'udp4'));
  const flags = (isVersion6 && ipv6Only ? UDP_IPV6_ONLY : 0) | (shared ? UDP_REUSE_PORT : 0);
  const error = (isVersion6 ? handle.bind6?.(host, port, flags) : handle.bind?.(host, port, flags)) ?? 0;
  if (error !== 0) handle.close();
  return bound(error === 0 ? handle : error);
}

/** libuv keeps EADDRINUSE back until the socket listens, which would happen in another process: there it is forgotten, and any port is used. */
function bound(result: RawSocket | number): RawSocket {
  const error = typeof result === 'number' ? result : (result.getsockname?.({}) ?? 0);
  if (typeof result !== 'number') {
    if (error === 0) return result;
    result.close();
  }
  throw systemError(getSystemErrorName(error));
}

function rawHandle(socket: Socket): RawSocket {
  const handle = datagramHandle(socket);
  if (handle === undefined) throw systemError('ENOTSUP');
  return handle as RawSocket;
}
