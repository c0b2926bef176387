import { runLogHandlers } from '../request/log-handlers.js';
import type { Request } from '../request/request.js';

/** A request is over, however it ended: closes its books and runs the log phase. */
export function closeRequest(request: Request): void {
  request.finished = true;
  request.owner = undefined;
  // It does not affect a complete one.
  request.filters?.destroy();
  request.front?.stop();
  request.context.figures.countAnswered();
  runLogHandlers(request);
  // Not before: its variables may be in the log.
  request.body?.end();
}

/** The client is gone before the response was complete (nginx: 499). The request may go on without it, but its end is not reported. */
export function abandonRequest(request: Request): void {
  if (request.status === 0) request.status = 499;
  const { owner } = request;
  if (owner !== undefined) owner.abort();
  else request.context.log.write('info', 'client prematurely closed connection', request);
  if (!request.finished) closeRequest(request);
}

/** The client was too slow with the body (client_body_timeout). */
export function timeOutBody(request: Request): void {
  const { context } = request;
  context.log.write('info', 'client timed out (110: Connection timed out) while reading client request body', request);
  request.keepAlive = false;
  request.body?.fail(408);
  if (!request.finished) context.flow.reject(request, 408);
}

/** The body itself is rejected: malformed, or longer than client_max_body_size. */
export function rejectBody(request: Request, status: number): void {
  if (request.headSent) return;
  request.owner?.abort();
  if (!request.finished) request.context.flow.reject(request, status);
}
