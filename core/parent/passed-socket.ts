import { fstatSync, readFileSync } from 'node:fs';
import { SocketAddress, isIPv6 } from 'node:net';
import type { SocketRequest } from '../net/socket-source.js';
import { systemErrorText } from '../contract/system-error.js';
import type { PassedDescriptor } from './activation.js';
import { adoptSocket, type RawSocket } from '../net/transport/raw-socket.js';

/** Where a socket is bound. */
export type SocketPlace = Pick<SocketRequest, 'host' | 'port' | 'path' | 'udp'>;

/** A listening socket that systemd has opened. */
export interface PassedSocket extends PassedDescriptor {
  readonly raw: RawSocket;
  readonly place: SocketPlace;
}

interface SocketName {
  address?: string;
  port?: number;
}

/** @throws Error that says why no server can listen there */
export function adoptPassed(passed: PassedDescriptor): PassedSocket {
  const { descriptor } = passed;
  const inode = inodeOf(descriptor);
  const unix = unixSockets().get(inode);
  if (unix !== undefined) {
    if (!unix.isStream || unix.path === '') throw new Error('not a stream socket with a path');
    const place = { host: 'unix:', port: 0, path: unix.path, udp: false };
    return { ...passed, raw: adoptSocket(place, descriptor), place };
  }
  const { raw, udp } = adoptInternet(descriptor);
  const name: SocketName = {};
  raw.getsockname?.(name);
  const { address: host = '', port = 0 } = name;
  if (port === 0) throw new Error('not a bound TCP, UDP or unix socket');
  if (raw.getpeername?.({}) === 0) throw new Error('a connection, not a listening socket: its unit needs "Accept=no"');
  return { ...passed, raw, place: { host, port, path: undefined, udp } };
}

/** An address as every program writes it. */
export function plainHost(host: string): string {
  return isIPv6(host) ? new SocketAddress({ address: host, family: 'ipv6' }).address : host;
}

export function placeText({ host, port, path, udp }: SocketPlace): string {
  if (path !== undefined) return `unix:${path}`;
  return `${isIPv6(host) ? `[${host}]` : host}:${port}${udp ? ' udp' : ''}`;
}

function inodeOf(descriptor: number): number {
  let found;
  try {
    found = fstatSync(descriptor);
  } catch (error) {
    throw new Error(systemErrorText(error), { cause: error });
  }
  if (!found.isSocket()) throw new Error('not a socket');
  return found.ino;
}

function adoptInternet(descriptor: number): { readonly raw: RawSocket; readonly udp: boolean } {
  try {
    return { raw: adoptSocket({ udp: false, host: '' }, descriptor), udp: false };
  } catch {
    // Node.js recognises sockets for datagrams by this alone: it does not accept them as servers.
    return { raw: adoptSocket({ udp: true, host: '' }, descriptor), udp: true };
  }
}

/** Node.js does not tell the path of a socket. */
function unixSockets(): ReadonlyMap<number, { readonly isStream: boolean; readonly path: string }> {
  const lines = readFileSync('/proc/self/net/unix', 'utf8').split('\n').slice(1);
  return new Map(
    lines.flatMap((line) => {
      const [, type, inode, path = ''] = /^\S+ \S+ \S+ \S+ (\S+) \S+ +(\d+)(?: (\/.*))?$/.exec(line) ?? [];
      return inode === undefined ? [] : [[Number(inode), { isStream: Number(type) === STREAM, path }] as const];
    }),
  );
}

const STREAM = 1;
