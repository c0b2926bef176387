import type { HttpRequest } from '../contract/http.js';
import type { Log } from '../contract/log.js';
import type { StreamSession } from '../contract/stream.js';
import type { Timed, TimerWheel } from '../net/timers.js';

/** A request or a session, as far as waiting for its handler is concerned. */
export type WaitingSubject = (HttpRequest | StreamSession) & {
  /** Another part that works on it; undefined: the handlers. */
  owner: object | undefined;
  readonly context: { readonly timers: TimerWheel; readonly log: Pick<Log, 'write'> };
};

/**
 * A request or a session that waits for a handler: for its promise, or for what the handler has promised with DONE. It ends with
 * handler_timeout. Another owner replaces it, and has time limits of its own.
 */
export abstract class HandlerWait<S extends WaitingSubject> implements Timed {
  deadline = 0;
  slot = -1;

  constructor(
    protected readonly subject: S,
    protected readonly handler: unknown,
  ) {}

  /** handler_timeout in milliseconds; 0: none. */
  protected abstract get limit(): number;

  /** The handler, as the log names it. */
  protected abstract get handlerName(): string;

  /** The time is over, which is logged: ends the subject. */
  protected abstract giveUp(): void;

  start(): this {
    const subject: WaitingSubject = this.subject;
    subject.owner = this;
    this.arm();
    return this;
  }

  /** The handler has settled, or the subject goes on without it. */
  end(): void {
    const subject: WaitingSubject = this.subject;
    subject.context.timers.forget(this);
    if (subject.owner === this) subject.owner = undefined;
  }

  onDeadline(): void {
    if (!this.isAwaited) return;
    const subject: WaitingSubject = this.subject;
    subject.owner = undefined;
    subject.context.log.write('error', `${this.handlerName} timed out (110: Connection timed out)`, subject);
    this.giveUp();
  }

  /** Nothing else owns the subject. */
  protected get isAwaited(): boolean {
    return this.subject.owner === this;
  }

  protected arm(): void {
    const { limit, subject } = this;
    if (limit > 0) subject.context.timers.arm(this, limit);
  }
}
