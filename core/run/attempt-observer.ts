import type { AttemptEvent, AttemptHandler, MemberAttempt } from '../contract/member-attempt.js';

/** The modules that look at the attempts of one request or session. Made only where there are some. */
export class AttemptObserver<R> {
  constructor(
    private readonly subject: R,
    private readonly handlers: readonly AttemptHandler<R>[],
    /** Look at the end of attempts alone. */
    private readonly endHandlers: readonly ((subject: R, attempt: MemberAttempt) => void)[],
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
    if (event === 'end') this.#end(attempt);
  }

  #end(attempt: MemberAttempt): void {
    for (const handler of this.endHandlers) {
      try {
        handler(this.subject, attempt);
      } catch (error) {
        this.failed(this.subject, error, handler);
      }
    }
  }
}
