import { AttemptObserver } from '../../run/attempt-observer.js';
import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** Undefined: no module of the location looks at attempts. */
export function attemptObserver(request: Request): AttemptObserver<Request> | undefined {
  const { attemptHandlers } = request.location;
  return attemptHandlers.length === 0 ? undefined : new AttemptObserver(request, attemptHandlers, logFailure);
}
