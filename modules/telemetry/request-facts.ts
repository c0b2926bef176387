import type { HttpRequest } from '../../core/contract/http.js';
import type { RequestRecord } from './span-records.js';

/** Facts of a request, for its span and for its log record. */
type RequestFacts = Pick<
  RequestRecord,
  | 'method'
  | 'isSecure'
  | 'target'
  | 'host'
  | 'serverPort'
  | 'protocol'
  | 'client'
  | 'peer'
  | 'peerPort'
  | 'userAgent'
  | 'route'
  | 'status'
  | 'bodySent'
>;

/** @param isOwn the server has made it itself @param route name of its location */
export function requestFacts(request: HttpRequest, isOwn: boolean, route: string): RequestFacts {
  const { method, host, protocol, status, connection } = request;
  return {
    method,
    isSecure: connection.secure,
    target: isOwn ? `${request.uri}${request.args === '' ? '' : `?${request.args}`}` : request.requestUri,
    host,
    serverPort: connection.localPort,
    protocol,
    client: request.variable('remote_addr') ?? '',
    peer: connection.remoteAddress,
    peerPort: connection.remotePort,
    userAgent: request.header('user-agent') ?? '',
    route,
    status,
    bodySent: request.bodyBytesSent,
  };
}
