import { argType } from '../contract/arg-type.js';
import { isIP } from 'node:net';
import { MAX_SOCKET_PATH } from '../contract/address.js';
import { ArgError, type ArgType } from '../contract/spec.js';

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The same as `port` where no range is written. */
  readonly lastPort: number;
  readonly socket: string | undefined;
}

/** The address of a `listen` line: `127.0.0.1:80`, `[::1]:80`, `*`, `80`, `unix:/run/x`. */
export const listenAddress = addressArgument('80');
/** The same in `stream`, where a port has to be given. */
export const streamListenAddress = addressArgument(undefined);

function addressArgument(defaultPort: string | undefined): ArgType<ListenAddress> {
  return argType({
    kind: 'text',
    form: 'address',
    parse: (target, context) => parseListenAddress(target, (relative) => context.path(relative), defaultPort),
  });
}

const ADDRESS_HINT = 'an address is written like 80, 127.0.0.1:80, [::1]:80, *:80 or unix:/path/of/socket';

/** nginx's words for an address that cannot be. */
function refusal(what: string, target: string): ArgError {
  return new ArgError(`${what} in "${target}" of the "listen" directive`, ADDRESS_HINT);
}

/**
 * @param defaultPort undefined: a port has to be given
 * @throws ArgError in nginx's wording
 */
export function parseListenAddress(target: string, path: (relative: string) => string, defaultPort: string | undefined): ListenAddress {
  if (target.startsWith('unix:')) {
    if (target.length === 5) throw refusal('no path in the unix domain socket', target);
    const socket = path(target.slice(5));
    if (Buffer.byteLength(socket) > MAX_SOCKET_PATH) throw refusal('too long path in the unix domain socket', target);
    return { host: 'unix:', port: 0, lastPort: 0, socket };
  }
  if (/^\d+(?:-\d+)?$/.test(target)) return { host: '0.0.0.0', ...parsePorts(target, target), socket: undefined };
  const match = /^(?:\[([^\]]*)\]|([^:[]+))(?::(.*))?$/s.exec(target);
  if (!match) throw refusal('invalid host', target);
  const [, v6, v4 = '', portText = defaultPort] = match;
  if (portText === undefined) throw refusal('no port', target);
  const ports = parsePorts(portText, target);
  if (v6 !== undefined) {
    if (isIP(v6) !== 6) throw refusal('invalid IPv6 address', target);
    return { host: v6, ...ports, socket: undefined };
  }
  const host = v4 === '*' ? '0.0.0.0' : v4 === 'localhost' ? '127.0.0.1' : v4;
  if (isIP(host) !== 4) throw refusal('host not found', target);
  return { host, ...ports, socket: undefined };
}

/** `80`, `8000-8003` */
function parsePorts(text: string, target: string): { port: number; lastPort: number } {
  const [, first = text, last = first] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  const ports = { port: parsePort(first, target), lastPort: parsePort(last, target) };
  if (ports.lastPort < ports.port) throw refusal('invalid port range', target);
  return ports;
}

function parsePort(text: string, target: string): number {
  const port = Number(text);
  if (!/^0*\d{1,5}$/.test(text) || port < 1 || port > 65535) throw refusal('invalid port', target);
  return port;
}
