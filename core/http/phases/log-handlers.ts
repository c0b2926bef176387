import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** Runs the log phase of a request, each handler whatever becomes of the others. */
export function runLogHandlers(request: Request): void {
  for (const handler of request.location.logHandlers) {
    try {
      handler(request);
    } catch (error) {
      logFailure(request, error, handler);
    }
  }
}
