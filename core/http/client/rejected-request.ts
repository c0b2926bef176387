import type { MatchedServer } from './head-server.js';
import { takeTarget } from './request-start.js';
import { Request } from '../request/request.js';
import type { ClientStream } from '../request/client-stream.js';

/** A head that is not a request. */
interface RejectedHead {
  /** Its request line as received, for the access log. */
  readonly line: string;
  readonly reason: string;
  /** Whose error pages and logs it gets. */
  readonly found: MatchedServer;
}

/** The request that stands for a head which was rejected, in logs and for the response. No handler gets it. */
export function rejectedRequest(stream: ClientStream, { line, reason, found: { server } }: RejectedHead): Request {
  const { context } = stream;
  const request = new Request(stream, server, context.head);
  request.rejected = true;
  request.rejectedLine = line;
  request.host = server.name;
  request.keepAlive = false;
  context.headOwner = request;
  if (request.text !== '') takeTarget(request, context.head);
  // Its line was too long to be read on, and the response still has no body (RFC 9110, 9.3.2).
  else if (line.startsWith('HEAD ')) request.method = 'HEAD';
  context.log.write('info', `${reason} while reading client request ${request.text === '' ? 'line' : 'headers'}`, request);
  context.figures.countRequest();
  return request;
}
