import { takeTarget } from './request-start.js';
import { Request } from '../request/request.js';
import type { ClientStream } from '../request/client-stream.js';

/** A head that is no request. */
interface RejectedHead {
  /** What came as its request line, for the access log. */
  readonly line: string;
  readonly reason: string;
}

/** The request that stands for a head which was rejected, in logs and for the response. No handler gets it. */
export function rejectedRequest(stream: ClientStream, { line, reason }: RejectedHead): Request {
  const { context, listener } = stream;
  const { defaultServer } = listener.names;
  const request = new Request(stream, defaultServer, context.head);
  request.rejected = true;
  request.rejectedLine = line;
  request.host = defaultServer.name;
  request.keepAlive = false;
  context.headOwner = request;
  if (request.text !== '') takeTarget(request, context.head);
  // Its line was too long to be read on, and the response still has no body (RFC 9110, 9.3.2).
  else if (line.startsWith('HEAD ')) request.method = 'HEAD';
  context.log.write('info', `${reason} while reading client request ${request.text === '' ? 'line' : 'headers'}`, request);
  context.figures.countRequest();
  return request;
}
