import { isIP } from 'node:net';

/** One `listen` line. */
export interface ListenOptions {
  /** What a socket is bound to, and what two lines share when it is the same: `0.0.0.0:80`, `[::]:80`, `unix:/run/x`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** Path of a unix socket, or undefined. */
  readonly path: string | undefined;
  readonly defaultServer: boolean;
  readonly secure: boolean;
  readonly backlog: number | undefined;
  readonly ipv6Only: boolean;
  readonly keepAlive: boolean;
}

/** Parameters that are understood and change nothing here: every worker has a socket of its own with SO_REUSEPORT. */
const IGNORED = new Set(['reuseport', 'bind', 'deferred', 'so_keepalive=off']);
const IGNORED_KEYS = new Set(['rcvbuf', 'sndbuf', 'accept_filter', 'fastopen', 'setfib']);

/**
 * Parses the arguments of `listen`.
 * @throws RangeError in nginx's wording.
 */
export function parseListen(args: readonly string[], path: (relative: string) => string): ListenOptions {
  const [target = '', ...parameters] = args;
  const { host, port, socket } = parseListenAddress(target, path);
  const options = { defaultServer: false, secure: false, backlog: undefined as number | undefined, ipv6Only: true, keepAlive: false };
  for (const parameter of parameters) applyParameter(parameter, options);
  const address = socket === undefined ? `${host.includes(':') ? `[${host}]` : host}:${port}` : `unix:${socket}`;
  return { address, host, port, path: socket, ...options };
}

function applyParameter(
  parameter: string,
  options: { defaultServer: boolean; secure: boolean; backlog: number | undefined; ipv6Only: boolean; keepAlive: boolean },
): void {
  const equals = parameter.indexOf('=');
  const key = equals < 0 ? parameter : parameter.slice(0, equals);
  const value = equals < 0 ? '' : parameter.slice(equals + 1);
  if (parameter === 'default_server' || parameter === 'default') options.defaultServer = true;
  else if (parameter === 'ssl') options.secure = true;
  else if (key === 'backlog') options.backlog = parseCount(parameter, value);
  else if (key === 'ipv6only') options.ipv6Only = parseOnOff(parameter, value);
  else if (key === 'so_keepalive' && value !== 'off') options.keepAlive = true;
  else if (!IGNORED.has(parameter) && !IGNORED_KEYS.has(key)) throw new RangeError(`invalid parameter "${parameter}"`);
}

function parseCount(parameter: string, value: string): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) === 0) throw new RangeError(`invalid ${parameter.split('=')[0]} "${value}"`);
  return Number(value);
}

function parseOnOff(parameter: string, value: string): boolean {
  if (value === 'on') return true;
  if (value === 'off') return false;
  throw new RangeError(`invalid ipv6only flags "${parameter.slice(parameter.indexOf('=') + 1)}"`);
}

function parseListenAddress(
  target: string,
  path: (relative: string) => string,
): { host: string; port: number; socket: string | undefined } {
  if (target.startsWith('unix:')) {
    if (target.length === 5) throw new RangeError(`no host in "${target}" of the "listen" directive`);
    return { host: 'unix:', port: 0, socket: path(target.slice(5)) };
  }
  if (/^\d+$/.test(target)) return { host: '0.0.0.0', port: parsePort(target, target), socket: undefined };
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(target);
  if (!match) throw new RangeError(`invalid host in "${target}" of the "listen" directive`);
  const [, v6, v4 = '', portText = '80'] = match;
  const port = parsePort(portText, target);
  if (v6 !== undefined) {
    if (isIP(v6) !== 6) throw new RangeError(`invalid IPv6 address in "${target}" of the "listen" directive`);
    return { host: v6, port, socket: undefined };
  }
  const host = v4 === '*' ? '0.0.0.0' : v4 === 'localhost' ? '127.0.0.1' : v4;
  if (isIP(host) !== 4) throw new RangeError(`host not found in "${target}" of the "listen" directive`);
  return { host, port, socket: undefined };
}

function parsePort(text: string, target: string): number {
  const port = Number(text);
  if (port < 1 || port > 65535) throw new RangeError(`invalid port in "${target}" of the "listen" directive`);
  return port;
}
