import type { ClientConnection } from '../../contract/client-connection.js';
import { hostNameEnd, normalHostName } from '../../net/http1/host.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import { parseRequestHead, type RequestHead } from '../../net/http1/request-head.js';
import type { ServerSearch } from '../request/client-stream.js';
import type { RequestServer } from '../site/virtual-server.js';

/** A virtual server with the captures of its name. */
export type MatchedServer = ReturnType<ServerSearch['find']>;

/**
 * The server that a rejected head is for, as far as it was read: that of its Host, else that of the TLS handshake, else the default server
 * (as in nginx).
 */
function serverOfRejected(head: RequestHead, names: ServerSearch, client: ClientConnection): RequestServer {
  const host = head.hostName || hostFieldOf(head);
  if (host !== '') return names.find(host).server;
  const { serverName } = client;
  return serverName === undefined ? names.defaultServer : names.find(serverName).server;
}

/** The value of the field alone, of a head whose parsing stopped after it. */
function hostFieldOf({ hostField, bytes, fields, text }: RequestHead): string {
  if (hostField < 0) return '';
  const start = fields[4 * hostField + 2] as number;
  const nameEnd = hostNameEnd(bytes, start, fields[4 * hostField + 3] as number);
  return nameEnd < 0 ? '' : normalHostName(text, start, nameEnd);
}

/** True if a head may be parsed in two ways under the two. Nearly always they are equal, and it is parsed once. */
export function limitsDiffer(a: HeadLimits, b: HeadLimits): boolean {
  return a !== b && (a.names !== b.names || a.line !== b.line || a.field !== b.field || a.total !== b.total || a.fields !== b.fields);
}

/**
 * The server of the whole head that was just parsed, sound or not, under `limits`: only its fields say which it is. Where that one has other
 * limits, the head is parsed again under them. `head.code` is 0 afterwards if it is sound for that server.
 */
export function settleServer(head: RequestHead, names: ServerSearch, client: ClientConnection, limits: HeadLimits): MatchedServer {
  let inForce = limits;
  if (head.code !== 0) {
    const server = serverOfRejected(head, names, client);
    inForce = server.settings.headLimits;
    if (!limitsDiffer(inForce, limits) || parseAgain(head, inForce) !== 0) return { server, captures: undefined };
  }
  const found = names.find(head.hostName);
  const { headLimits } = found.server.settings;
  if (limitsDiffer(headLimits, inForce)) parseAgain(head, headLimits);
  return found;
}

/**
 * Parses a whole head, and does what {@link settleServer} does.
 * @param uncounted field lines that `max_headers` does not count
 */
export function parseForServer(
  head: RequestHead,
  text: string,
  names: ServerSearch,
  client: ClientConnection,
  uncounted = 0,
): MatchedServer {
  const { headLimits } = names.defaultServer.settings;
  parseRequestHead(head, text, headLimits, uncounted);
  return settleServer(head, names, client, headLimits);
}

function parseAgain(head: RequestHead, limits: HeadLimits): number {
  const status = parseRequestHead(head, head.text, limits, head.uncounted);
  return status === 0 && head.text.length > limits.total ? head.refuseLarge('too large request') : status;
}

/** The server whose limits hold for what came of a head that was rejected before its end, as {@link serverOfRejected}. */
export function serverOfPart(
  head: RequestHead,
  part: string,
  names: ServerSearch,
  client: ClientConnection,
  limits: HeadLimits,
): RequestServer {
  parseRequestHead(head, part.replaceAll(/\r?\n/g, '\r\n'), limits);
  return serverOfRejected(head, names, client);
}
