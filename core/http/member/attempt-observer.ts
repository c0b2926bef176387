import type { HttpHandlers } from '../../contract/http.js';
import type { MemberAttempt } from '../../contract/member-attempt.js';
import { AttemptObserver } from '../../run/attempt-observer.js';
import { logFailure } from '../request/handler-failure.js';
import { attemptHandlersOf } from '../request/observers.js';
import type { Request } from '../request/request.js';

export type AttemptEndHandlers = readonly NonNullable<HttpHandlers['memberAttemptEnd']>[];

/** Undefined: nothing looks at more of an attempt than its end. */
export function attemptObserver(request: Request): AttemptObserver<Request> | undefined {
  const { observers } = request;
  const { attemptHandlers } = request.location;
  if (observers !== undefined) return new AttemptObserver(request, [...attemptHandlers, ...attemptHandlersOf(observers)], logFailure);
  return attemptHandlers.length === 0 ? undefined : new AttemptObserver(request, attemptHandlers, logFailure);
}

/** Calls the handlers for the end of attempts alone. @param handlers of the location in which the attempt began */
export function attemptEnded(request: Request, attempt: MemberAttempt, handlers: AttemptEndHandlers): void {
  for (const handler of handlers) {
    try {
      handler(request, attempt);
    } catch (error) {
      logFailure(request, error, handler);
    }
  }
}
