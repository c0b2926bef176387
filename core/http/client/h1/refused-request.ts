import type { ClientConnection } from './client-connection.js';
import type { HeadReader } from './head-reader.js';
import { Request } from '../../request/request.js';
import { takeTarget } from '../request-start.js';

/** The request that stands for a head which was refused, in logs and for the answer. No handler gets it. */
export function refusedRequest(connection: ClientConnection, { line, reason }: HeadReader): Request {
  const { context, listener } = connection;
  const { defaultServer } = listener.names;
  const request = new Request(connection, defaultServer);
  request.refused = true;
  request.refusedLine = line;
  request.host = defaultServer.name;
  request.keepAlive = false;
  if (request.text !== '') takeTarget(request);
  // Its line was too long to be read on, and the answer still has no body (RFC 9110, 9.3.2).
  else if (line.startsWith('HEAD ')) request.method = 'HEAD';
  context.headOwner = request;
  context.log.write('info', `${reason} while reading client request ${request.text === '' ? 'line' : 'headers'}`, request);
  context.figures.countRequest();
  return request;
}
