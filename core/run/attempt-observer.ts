import type { AttemptEvent, AttemptHandler, MemberAttempt } from '../contract/member-attempt.js';

/** The modules that look at the attempts of one request or session. Made only where there are some. */
export class AttemptObserver<R> {
  constructor(
    private readonly subject: R,
    private readonly handlers: readonly AttemptHandler<R>[],
    /** Logs what a handler has thrown. */
    private readonly failed: (subject: R, error: unknown, handler: unknown) => void,
  ) {}

  tell(attempt: MemberAttempt, event: AttemptEvent): void {
    for (const handler of this.handlers) {
      try {
        handler(this.subject, attempt, event);
      } catch (error) {
        this.failed(this.subject, error, handler);
      }
    }
  }
}
