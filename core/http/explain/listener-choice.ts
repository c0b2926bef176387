import { isIP } from 'node:net';
import type { ClientConnection } from '../../contract/client-connection.js';
import { ExplainError } from '../../contract/explain.js';
import { ArgError } from '../../contract/spec.js';
import { parseListen } from '../../net/listen-options.js';
import type { HttpListenGroup, HttpListenGroups } from '../site/virtual-server.js';
import type { ParsedQuestion } from './question.js';

/** The listener that a request comes to. */
export interface FoundListener {
  readonly group: HttpListenGroup;
  readonly why: string;
  /** The client speaks TLS. */
  readonly secure: boolean;
}

/** @throws ExplainError: nothing listens there, or one of several listeners must be selected */
export function findListener(
  groups: HttpListenGroups,
  question: ParsedQuestion,
  listen: string | undefined,
  path: (relative: string) => string,
): FoundListener {
  const { group, why } = listen === undefined ? byUrl(groups, question) : byAddress(groups, listen, path);
  const { secure = group.options.secure } = question;
  if (secure && !group.options.secure)
    throw new ExplainError(`${group.options.address} does not speak TLS: write the URL with http://`, 'url');
  return { group, why, secure };
}

type Found = Omit<FoundListener, 'secure'>;

/** The address as `listen` writes it. */
function byAddress(groups: HttpListenGroups, listen: string, path: (relative: string) => string): Found {
  const group = groups.get(addressOf(listen, path));
  if (group === undefined) throw new ExplainError(`nothing listens on ${listen}${known(groups)}`, 'listen');
  return { group, why: 'it is asked for' };
}

function addressOf(listen: string, path: (relative: string) => string): string {
  try {
    return parseListen([listen], path)[0]?.address ?? '';
  } catch (error) {
    if (error instanceof ArgError) throw new ExplainError(`${error.message}: ${error.hint ?? 'write it as "listen" does'}`, 'listen');
    throw error;
  }
}

function byUrl(groups: HttpListenGroups, { hostName, port, secure }: ParsedQuestion): Found {
  const wanted = port ?? (secure === true ? 443 : 80);
  const there = Array.from(groups, ([, group]) => group).filter(({ options }) => options.path === undefined && options.port === wanted);
  const [only, second] = there;
  if (only === undefined) return withoutPort(groups, port, wanted, secure);
  const exact = there.find(({ options }) => options.host === hostName);
  if (exact !== undefined) return { group: exact, why: `it has the address of the URL, ${exact.options.address}` };
  const any = there.find(({ options }) => options.host === (isIP(hostName) === 6 ? '::' : '0.0.0.0'));
  if (any !== undefined) return { group: any, why: `it listens on port ${wanted} of all addresses` };
  if (second === undefined) return { group: only, why: `it is the only one on port ${wanted}` };
  const addresses = there.map(({ options }) => options.address).join(', ');
  throw new ExplainError(`several listeners have port ${wanted}: say which one is meant: ${addresses}`, 'listen');
}

/** A URL without a port, of servers that have other ports than those of http and https: it is clear what is meant if there is one listener. */
function withoutPort(groups: HttpListenGroups, port: number | undefined, wanted: number, secure: boolean | undefined): Found {
  const fitting = Array.from(groups, ([, group]) => group).filter(({ options }) => secure === undefined || options.secure === secure);
  const [only, second] = fitting;
  if (port === undefined && only !== undefined && second === undefined)
    return { group: only, why: `the URL has no port, and it is the only listener for ${only.options.secure ? 'https' : 'http'}` };
  throw new ExplainError(`nothing listens on port ${wanted}${known(groups)}`, 'url');
}

const MOST = 10;

function known(groups: HttpListenGroups): string {
  const addresses = Array.from(groups, ([address]) => address);
  if (addresses.length === 0) return ': the configuration has no servers';
  const more = addresses.length > MOST ? ` and ${addresses.length - MOST} more` : '';
  return `: the listeners are ${addresses.slice(0, MOST).join(', ')}${more}`;
}

/** The client of a request that no connection brings. */
export function clientOf({ client, hostName }: ParsedQuestion, { group, secure }: FoundListener): ClientConnection {
  const { host, port, path } = group.options;
  const local = host === '0.0.0.0' || host === '::' ? (isIP(hostName) === 0 ? (host === '::' ? '::1' : '127.0.0.1') : hostName) : host;
  return {
    id: 0,
    remoteAddress: path === undefined ? client : 'unix:',
    remotePort: 0,
    localAddress: path === undefined ? local : `unix:${path}`,
    localPort: port,
    secure,
    serverName: secure ? hostName : undefined,
    tls: undefined,
    acceptedAt: Date.now(),
    requests: 1,
    isPipelined: false,
    proxy: undefined,
    certificate: undefined,
    // As if the handshake had been for the host of the URL.
    clientAuthority: secure
      ? (group.names.find(hostName).server.tls ?? group.names.defaultServer.tls)?.identity.clientAuthority
      : undefined,
  };
}
