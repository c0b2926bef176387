import type { RequestObserver } from '../../contract/http.js';
import type { AttemptHandler } from '../../contract/member-attempt.js';
import { logFailure } from './handler-failure.js';
import type { Request } from './request.js';

/** An observer of one request. */
export interface ObserverEntry {
  readonly observer: RequestObserver;
  /** The handler that asked for it, whose module a failure is logged with. */
  readonly handler: unknown;
}

/** Calls the observers of a request that has some. Never throws. */
export function tellObservers(request: Request, entries: readonly ObserverEntry[], event: 'content' | 'head'): void {
  for (const { observer, handler } of entries) {
    try {
      observer[event]?.(request);
    } catch (error) {
      logFailure(request, error, handler);
    }
  }
}

/** Functions of the observers of a request for its attempts, none of which throws. */
export function attemptHandlersOf(entries: readonly ObserverEntry[]): AttemptHandler<Request>[] {
  return entries.map(({ observer, handler }) => (request, attempt, event) => {
    try {
      observer.memberAttempt?.(request, attempt, event);
    } catch (error) {
      logFailure(request, error, handler);
    }
  });
}
