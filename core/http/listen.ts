import { isIP } from 'node:net';
import { ArgError, type ArgType } from '../module/spec.js';

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

/** The address of a `listen` line: `127.0.0.1:80`, `[::1]:80`, `*`, `80`, `unix:/run/x`. */
export const listenAddress: ArgType<ListenAddress> = {
  kind: 'text',
  form: 'address',
  parse: (target, context) => parseListenAddress(target, (relative) => context.path(relative)),
};

/** What may follow the address: `ssl`, `backlog=511`. */
export const listenParameter: ArgType<string> = {
  kind: 'text',
  form: 'parameter',
  parse(parameter) {
    applyParameter(parameter, defaultParameters());
    return parameter;
  },
};

/**
 * Reads the arguments of `listen`.
 * @throws ArgError in nginx's wording.
 */
export function parseListen(args: readonly string[], path: (relative: string) => string): ListenOptions {
  const [target = '', ...parameters] = args;
  const { host, port, socket } = parseListenAddress(target, path);
  const options = defaultParameters();
  for (const parameter of parameters) applyParameter(parameter, options);
  const address = socket === undefined ? `${host.includes(':') ? `[${host}]` : host}:${port}` : `unix:${socket}`;
  return { address, host, port, path: socket, ...options };
}

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly socket: string | undefined;
}

interface Parameters {
  defaultServer: boolean;
  secure: boolean;
  backlog: number | undefined;
  ipv6Only: boolean;
  keepAlive: boolean;
}

function defaultParameters(): Parameters {
  return { defaultServer: false, secure: false, backlog: undefined, ipv6Only: true, keepAlive: false };
}

function applyParameter(parameter: string, options: Parameters): void {
  const equals = parameter.indexOf('=');
  const key = equals < 0 ? parameter : parameter.slice(0, equals);
  const value = equals < 0 ? '' : parameter.slice(equals + 1);
  if (parameter === 'default_server' || parameter === 'default') options.defaultServer = true;
  else if (parameter === 'ssl') options.secure = true;
  else if (key === 'backlog') options.backlog = parseCount(parameter, value);
  else if (key === 'ipv6only') options.ipv6Only = parseOnOff(parameter, value);
  else if (key === 'so_keepalive' && value !== 'off') options.keepAlive = true;
  else if (!IGNORED.has(parameter) && !IGNORED_KEYS.has(key)) {
    throw new ArgError(
      `invalid parameter "${parameter}"`,
      'accepted: default_server, ssl, backlog=number, ipv6only=on|off, so_keepalive=on|off',
    );
  }
}

function parseCount(parameter: string, value: string): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) === 0) throw new ArgError(`invalid backlog "${parameter}"`, 'it is a number from 1 on');
  return Number(value);
}

function parseOnOff(parameter: string, value: string): boolean {
  if (value !== 'on' && value !== 'off') throw new ArgError(`invalid ipv6only flags "${parameter}"`, 'it must be "on" or "off"');
  return value === 'on';
}

const ADDRESS_HINT = 'an address is written like 80, 127.0.0.1:80, [::1]:80, *:80 or unix:/path/of/socket';

/** nginx's words for an address that cannot be. */
function refusal(what: string, target: string): ArgError {
  return new ArgError(`${what} in "${target}" of the "listen" directive`, ADDRESS_HINT);
}

function parseListenAddress(target: string, path: (relative: string) => string): ListenAddress {
  if (target.startsWith('unix:')) {
    if (target.length === 5) throw refusal('no path in the unix domain socket', target);
    return { host: 'unix:', port: 0, socket: path(target.slice(5)) };
  }
  if (/^\d+$/.test(target)) return { host: '0.0.0.0', port: parsePort(target, target), socket: undefined };
  const match = /^(?:\[([^\]]*)\]|([^:[]+))(?::(.*))?$/s.exec(target);
  if (!match) throw refusal('invalid host', target);
  const [, v6, v4 = '', portText = '80'] = match;
  const port = parsePort(portText, target);
  if (v6 !== undefined) {
    if (isIP(v6) !== 6) throw refusal('invalid IPv6 address', target);
    return { host: v6, port, socket: undefined };
  }
  const host = v4 === '*' ? '0.0.0.0' : v4 === 'localhost' ? '127.0.0.1' : v4;
  if (isIP(host) !== 4) throw refusal('host not found', target);
  return { host, port, socket: undefined };
}

function parsePort(text: string, target: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65535) throw refusal('invalid port', target);
  return port;
}
