import type { AttemptEvent, AttemptHandler, MemberAttempt } from '../../contract/member-attempt.js';
import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** The modules of a location that look at the attempts of one request. Made only where there are some. */
export class AttemptObserver {
  private constructor(
    private readonly request: Request,
    private readonly handlers: readonly AttemptHandler[],
  ) {}

  static of(request: Request): AttemptObserver | undefined {
    const { attemptHandlers } = request.location;
    return attemptHandlers.length === 0 ? undefined : new AttemptObserver(request, attemptHandlers);
  }

  tell(attempt: MemberAttempt, event: AttemptEvent): void {
    const { request } = this;
    for (const handler of this.handlers) {
      try {
        handler(request, attempt, event);
      } catch (error) {
        logFailure(request, error, handler);
      }
    }
  }
}
