import { argType } from '../contract/arg-type.js';
import { sizeOf } from '../contract/args.js';
import { parseTime } from '../contract/duration.js';
import { ArgError, type ArgType } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { parseListenAddress } from './listen-address.js';
import { hasPrivatePath } from './socket-file.js';

/** One `listen` line. */
export interface ListenOptions {
  /** Address that a socket is bound to, equal for two lines with the same socket: `0.0.0.0:80`, `[::]:80`, `unix:/run/x`, `0.0.0.0:53 udp`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** Path of a unix socket, or undefined. */
  readonly path: string | undefined;
  readonly defaultServer: boolean;
  readonly secure: boolean;
  /** It takes datagrams in place of connections. */
  readonly udp: boolean;
  readonly backlog: number | undefined;
  /** Bytes of the buffers of a socket (rcvbuf, sndbuf), which connections have from it; undefined: the system's default. */
  readonly receiveBuffer: number | undefined;
  readonly sendBuffer: number | undefined;
  /** Connections are accepted when their first bytes have come (TCP_DEFER_ACCEPT). */
  readonly deferred: boolean;
  /** Connections that may wait with data in their first packet (TCP_FASTOPEN); undefined: the system's default. */
  readonly fastOpen: number | undefined;
  readonly ipv6Only: boolean;
  /** so_keepalive; undefined: off. */
  readonly keepAlive: KeepAlive | undefined;
  /** Each connection begins with a header of the PROXY protocol. */
  readonly proxyProtocol: boolean;
  /** Clients may speak HTTP/2, whatever the servers say: the form before the directive `http2`. */
  readonly http2: boolean;
  /** Permissions of a unix socket; undefined: by the umask. */
  readonly mode: number | undefined;
  /** Options of the socket stand in this line. */
  readonly setsSocket: boolean;
  /** Undefined: no line says where the server listens. */
  readonly line?: Directive;
}

/** When the system looks whether the other side of a silent connection is still there. */
export interface KeepAlive {
  /** Milliseconds of silence before the first probe; 0: all values are the system's. */
  readonly idle: number;
  /** Milliseconds between probes. */
  readonly interval: number | undefined;
  /** Probes without a response that end the connection. */
  readonly count: number | undefined;
}

/** Linux's values for options that a line leaves out while it has others: Node sets all or none. */
const SYSTEM_KEEP_ALIVE = { idle: 7_200_000, interval: 75_000, count: 9 };

/** Type of the value after `key=` of an option of the socket. */
type SocketOption = (parameter: string, value: string, options: Parameters) => void;

/** Options of the socket: one line of an address may have them. Options without an effect are read as well. */
const SOCKET_OPTIONS: Readonly<Record<string, SocketOption>> = {
  backlog: (parameter, value, options) => (options.backlog = parseCount('backlog', parameter, value, 1)),
  ipv6only: (parameter, value, options) => (options.ipv6Only = parseOnOff(parameter, value)),
  so_keepalive: (_, value, options) => (options.keepAlive = parseKeepAlive(value)),
  mode: (parameter, value, options) => (options.mode = parseMode(parameter, value)),
  fastopen: (parameter, value, options) => (options.fastOpen = parseCount('fastopen', parameter, value, 0)),
  rcvbuf: (parameter, value, options) => (options.receiveBuffer = parseBufferSize('rcvbuf', parameter, value)),
  sndbuf: (parameter, value, options) => (options.sendBuffer = parseBufferSize('sndbuf', parameter, value)),
  accept_filter: () => undefined,
};

/** Without a value; every worker has a socket of its own with SO_REUSEPORT in any case. */
const SOCKET_WORDS: Readonly<Record<string, (options: Parameters) => void>> = {
  reuseport: () => undefined,
  bind: () => undefined,
  deferred: (options) => (options.deferred = true),
};

/** The engine that a line is for: each has parameters of its own. */
interface Dialect {
  readonly defaultPort: string | undefined;
  readonly words: Readonly<Record<string, (options: Parameters) => void>>;
  readonly hint: string;
}

const SOCKET_HINT =
  'proxy_protocol, backlog=number, rcvbuf=size, sndbuf=size, deferred, fastopen=number, reuseport, bind, ipv6only=on|off, so_keepalive=on|off|[idle]:[interval]:[count], accept_filter=name, mode=0660, node=name';

const HTTP: Dialect = {
  defaultPort: '80',
  words: { http2: (options) => (options.http2 = true) },
  hint: `accepted: default_server, ssl, http2, ${SOCKET_HINT}`,
};

const STREAM: Dialect = {
  defaultPort: undefined,
  words: { udp: (options) => (options.udp = true) },
  hint: `accepted: default_server, ssl, udp, ${SOCKET_HINT}`,
};

/** Options after the address in `stream`: `udp`, `ssl`, `backlog=511`. */
export const streamListenParameter: ArgType<string> = argType({
  kind: 'text',
  form: 'parameter',
  parse(parameter) {
    applyParameter(parameter, defaultParameters(), STREAM);
    return parameter;
  },
});

/** Options after the address: `ssl`, `backlog=511`. */
export const listenParameter: ArgType<string> = argType({
  kind: 'text',
  form: 'parameter',
  parse(parameter, { warn }) {
    if (parameter === 'http2') warn?.('the "listen ... http2" directive is deprecated, use the "http2" directive instead');
    applyParameter(parameter, defaultParameters(), HTTP);
    return parameter;
  },
});

/**
 * Reads the arguments of `listen`: one address for each port of a range.
 * @throws ArgError in nginx's wording.
 */
export function parseListen(args: readonly string[], path: (relative: string) => string): ListenOptions[] {
  return parseLine(args, path, HTTP);
}

/** As {@link parseListen}, for a line of `stream`. */
export function parseStreamListen(args: readonly string[], path: (relative: string) => string): ListenOptions[] {
  return parseLine(args, path, STREAM);
}

function parseLine(args: readonly string[], path: (relative: string) => string, dialect: Dialect): ListenOptions[] {
  const [target = '', ...parameters] = args;
  const { host, port: first, lastPort, socket } = parseListenAddress(target, path, dialect.defaultPort);
  const options = defaultParameters();
  for (const parameter of parameters) applyParameter(parameter, options, dialect);
  if (options.udp) assertForDatagrams(parameters);
  if (options.mode !== undefined) assertModeFits(socket, target);
  const shownHost = host.includes(':') && socket === undefined ? `[${host}]` : host;
  const listens: ListenOptions[] = [];
  for (let port = first; port <= lastPort; port++) {
    const bound = socket === undefined ? `${shownHost}:${port}` : `unix:${socket}`;
    const address = options.udp ? `${bound} udp` : bound;
    listens.push({ address, host, port, path: socket, ...options });
  }
  return listens;
}

interface Parameters {
  defaultServer: boolean;
  secure: boolean;
  udp: boolean;
  backlog: number | undefined;
  receiveBuffer: number | undefined;
  sendBuffer: number | undefined;
  deferred: boolean;
  fastOpen: number | undefined;
  ipv6Only: boolean;
  keepAlive: KeepAlive | undefined;
  proxyProtocol: boolean;
  http2: boolean;
  mode: number | undefined;
  setsSocket: boolean;
}

function defaultParameters(): Parameters {
  return {
    defaultServer: false,
    secure: false,
    udp: false,
    backlog: undefined,
    receiveBuffer: undefined,
    sendBuffer: undefined,
    deferred: false,
    fastOpen: undefined,
    ipv6Only: true,
    keepAlive: undefined,
    proxyProtocol: false,
    http2: false,
    mode: undefined,
    setsSocket: false,
  };
}

/** `node=NAME`: the address is that of one node of a cluster; the others have the same line, by this name, with addresses of their own. */
const NODE = 'node';
const NODE_LABEL = /^[\w.-]+$/;

/** How a line is known in the configuration of all nodes: by its address, or by the name that `node=` gives it. */
export function listenIdentity([address = '', ...parameters]: readonly string[]): string {
  return parameters.find((parameter) => parameter.startsWith(`${NODE}=`)) ?? address;
}

function applyParameter(parameter: string, options: Parameters, dialect: Dialect): void {
  if (parameter === 'default_server' || parameter === 'default') options.defaultServer = true;
  else if (parameter === 'ssl') options.secure = true;
  else if (parameter === 'proxy_protocol') options.proxyProtocol = true;
  else if (Object.hasOwn(dialect.words, parameter)) dialect.words[parameter]?.(options);
  else {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(parameter) ?? [];
    if (key === NODE && NODE_LABEL.test(value)) return;
    const option = Object.hasOwn(SOCKET_OPTIONS, key) ? SOCKET_OPTIONS[key] : undefined;
    const word = Object.hasOwn(SOCKET_WORDS, parameter) ? SOCKET_WORDS[parameter] : undefined;
    if (option === undefined && word === undefined) throw new ArgError(`invalid parameter "${parameter}"`, dialect.hint);
    option?.(parameter, value, options);
    word?.(options);
    options.setsSocket = true;
  }
}

/** Options that a socket without connections cannot have. */
const OF_CONNECTIONS = /^(?:ssl|proxy_protocol|backlog=|fastopen=|so_keepalive=|deferred|accept_filter=)/;

function assertForDatagrams(parameters: readonly string[]): void {
  const wrong = parameters.find((parameter) => OF_CONNECTIONS.test(parameter));
  if (wrong === undefined) return;
  throw new ArgError(`"${wrong.replace(/=.*/s, '')}" parameter is incompatible with "udp"`);
}

function parseCount(name: string, parameter: string, value: string, least: number): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) < least) {
    throw new ArgError(`invalid ${name} "${parameter}"`, `it is a number from ${least} on`);
  }
  return Number(value);
}

function parseOnOff(parameter: string, value: string): boolean {
  if (value !== 'on' && value !== 'off') throw new ArgError(`invalid ipv6only flags "${parameter}"`, 'it must be "on" or "off"');
  return value === 'on';
}

/** `on`, `off`, or `[idle]:[interval]:[count]`. */
function parseKeepAlive(value: string): KeepAlive | undefined {
  if (value === 'on') return { idle: 0, interval: undefined, count: undefined };
  if (value === 'off') return undefined;
  const [, idle = '', interval = '', count = ''] = /^([^:]*):([^:]*)(?::(\d{0,9}))?$/.exec(value) ?? [];
  const times = [idle, interval].map((text) => (text === '' ? undefined : (parseTime(text) ?? NaN)));
  if (`${idle}${interval}${count}` === '' || times.some(Number.isNaN)) {
    throw new ArgError(`invalid so_keepalive value: "${value}"`, 'it is "on", "off" or [idle]:[interval]:[count]');
  }
  return {
    idle: times[0] ?? SYSTEM_KEEP_ALIVE.idle,
    interval: times[1] ?? SYSTEM_KEEP_ALIVE.interval,
    count: count === '' ? SYSTEM_KEEP_ALIVE.count : Number(count),
  };
}

/** Octal, as for chmod. */
function parseMode(parameter: string, value: string): number {
  if (!/^0?[0-7]{3}$/.test(value)) throw new ArgError(`invalid mode "${parameter}"`, 'permissions are written like 0660');
  return Number.parseInt(value, 8);
}

function assertModeFits(socket: string | undefined, target: string): void {
  if (socket === undefined) throw new ArgError(`"mode" is for unix sockets, not for "${target}"`);
  if (!hasPrivatePath(socket))
    throw new ArgError(
      `too long path in the unix domain socket in "${target}" of the "listen" directive`,
      'use a shorter folder, or no "mode"',
    );
}

function parseBufferSize(name: string, parameter: string, value: string): number {
  const size = /^\d{1,9}[km]?$/i.test(value) ? sizeOf(value) : undefined;
  if (size === undefined) throw new ArgError(`invalid ${name} "${parameter}"`, 'it is a size such as 64k');
  return size;
}
