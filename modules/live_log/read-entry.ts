import type { HttpRequest } from '../../core/contract/http.js';
import type { LogRecord } from '../../core/contract/log.js';
import type { AccessEntry, ErrorEntry } from './entry.js';

/** Characters of a text that an entry has at most. */
const LONGEST = 2048;

/** The entry of a request that is over. */
export function accessEntry(request: HttpRequest, worker: number): AccessEntry {
  const { method, protocol, status, connection } = request;
  return {
    kind: 'access',
    time: new Date().toISOString(),
    server: characters(request.variable('server_name') ?? ''),
    client: connection.remoteAddress,
    method: characters(method),
    uri: characters(request.requestUri),
    protocol,
    host: characters(request.host),
    status,
    bytes: request.bytesSent,
    duration: Number(request.variable('request_time') ?? 0),
    ...optional(request),
    request_id: request.requestId,
    connection: connection.id,
    worker,
  };
}

function optional(request: HttpRequest): Pick<AccessEntry, 'upstream' | 'upstream_status' | 'upstream_time' | 'cache' | 'user_agent'> {
  const upstream = request.variable('upstream_addr');
  const cache = request.variable('upstream_cache_status');
  const agent = request.header('user-agent');
  return {
    ...(upstream !== undefined &&
      upstream !== '' && {
        upstream: characters(upstream),
        upstream_status: request.variable('upstream_status') ?? '',
        upstream_time: request.variable('upstream_response_time') ?? '',
      }),
    ...(cache !== undefined && cache !== '' && { cache }),
    ...(agent !== undefined && { user_agent: characters(agent) }),
  };
}

export function errorEntry(record: LogRecord, worker: number): ErrorEntry {
  const { time, level, message, server, client, request, upstream, host, requestId, connection } = record;
  return {
    kind: 'error',
    time: new Date(time).toISOString(),
    level,
    message: message.slice(0, LONGEST),
    server: server && characters(server),
    client,
    request: request && characters(request),
    upstream: upstream && characters(upstream),
    host: host && characters(host),
    request_id: requestId,
    connection,
    worker,
  };
}

/** Values of requests are strings of bytes. */
function characters(value: string): string {
  const part = value.length > LONGEST ? value.slice(0, LONGEST) : value;
  return /^[\x00-\x7f]*$/.test(part) ? part : Buffer.from(part, 'latin1').toString();
}
