import type { AcceptedConnection } from '../../net/accepted-connection.js';
import { RequestHead } from '../../net/http1/request-head.js';
import { SocketClient, type ServedListener } from '../client/socket-client.js';
import type { HttpContext } from '../request/context.js';
import { NoStream } from '../request/no-stream.js';
import { Request } from '../request/request.js';

/** Subject of variables during a handshake: a request of which only the connection and the server exist. */
export function withHandshakeRequest<T>(
  context: HttpContext,
  listener: ServedListener,
  connection: AcceptedConnection,
  step: (request: Request) => T,
): T {
  const { serverName = '' } = connection;
  const { server, captures } = listener.names.find(serverName);
  const stream = new NoStream(context, new SocketClient(context.nextConnectionId(), connection), listener);
  const request = new Request(stream, server, new RequestHead());
  try {
    request.host = serverName;
    request.captures = captures;
    return step(request);
  } finally {
    request.finished = true;
    request.isOver = true;
    request.generation.leave();
  }
}
