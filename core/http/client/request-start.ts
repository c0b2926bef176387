import { type RequestHead, TARGET_ABSOLUTE, TARGET_AUTHORITY } from '../../net/http1/request-head.js';
import type { Request } from '../request/request.js';
import { connectLocation } from '../site/connect-location.js';
import type { MatchedServer } from './head-server.js';

/**
 * Finds host and path of a request whose head was just parsed (its fields are in the scratch).
 * @param found its server
 * @returns 0, or the status to reject it with.
 */
export function startRequest(request: Request, { server, captures }: MatchedServer): number {
  const { context } = request.stream;
  const { head } = context;
  if (captures !== undefined) request.captures = captures;
  request.host = head.hostName || server.name;
  if (head.targetForm === TARGET_AUTHORITY) return startTunnel(request);
  request.isForProxy = head.targetForm === TARGET_ABSOLUTE && request.location.connect !== undefined;
  if (!takeTarget(request, head)) {
    context.log.write('info', 'client sent invalid request path', request);
    return 400;
  }
  if (isPlainOnTlsPort(request)) return 497;
  return request.method === 'TRACE' ? 405 : 0;
}

/** CONNECT has no path. If it is rejected the connection ends: what follows was meant for a tunnel, and must not be read as a request. */
function startTunnel(request: Request): number {
  request.keepAlive = false;
  if (isPlainOnTlsPort(request)) return 497;
  if (connectLocation(request.server) === undefined) return 405;
  request.isForProxy = true;
  return 0;
}

function isPlainOnTlsPort(request: Request): boolean {
  const { context, listener } = request.stream;
  if (!listener.secure || request.connection.secure) return false;
  context.log.write('info', 'client sent plain HTTP request to HTTPS port while reading client request headers', request);
  return true;
}

/** Takes path and arguments of the request whose head was just parsed. False: the path is invalid. */
export function takeTarget(request: Request, head: RequestHead): boolean {
  const { uri } = request.context;
  if (head.targetForm === TARGET_ABSOLUTE) request.requestUri = originForm(head.text.slice(head.pathStart, head.targetEnd));
  if (!uri.parse(request.requestUri, request.server.settings.mergeSlashes)) return false;
  request.uri = uri.path;
  request.args = uri.args;
  return true;
}

/** The part after the authority of an absolute target, where the path may be missing (RFC 9112, 3.2.1). */
function originForm(target: string): string {
  return target.startsWith('/') ? target : `/${target}`;
}
