import { AttemptObserver } from '../../run/attempt-observer.js';
import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** Undefined: no module of the location looks at attempts. */
export function attemptObserver(request: Request): AttemptObserver<Request> | undefined {
  const { attemptHandlers, attemptEndHandlers } = request.location;
  if (attemptHandlers.length + attemptEndHandlers.length === 0) return undefined;
  return new AttemptObserver(request, attemptHandlers, attemptEndHandlers, logFailure);
}
