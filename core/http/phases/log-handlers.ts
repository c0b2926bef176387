import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** Runs the log phase of a request, then its end steps, each handler whatever becomes of the others. */
export function runLogHandlers(request: Request): void {
  runEach(request, request.location.logHandlers);
  const { endSteps } = request;
  request.endSteps = undefined;
  if (endSteps !== undefined) runEach(request, endSteps);
  request.generation.leave();
}

function runEach(request: Request, handlers: readonly ((request: Request) => unknown)[]): void {
  for (const handler of handlers) {
    try {
      const returned = handler(request);
      if (returned instanceof Promise) returned.catch((error: unknown) => logFailure(request, error, handler));
    } catch (error) {
      logFailure(request, error, handler);
    }
  }
}
