import { STREAM_INTERNAL_ERROR } from '../../contract/stream.js';
import type { Timed } from '../../net/timers.js';
import type { Session, SessionOwner } from '../session/session.js';

/**
 * A session that waits for the promise of a handler, for handler_timeout at most. A relay that takes the session over meanwhile replaces it as
 * the owner, and has time limits of its own.
 */
export class SessionWait implements SessionOwner, Timed {
  deadline = 0;
  slot = -1;

  constructor(
    private readonly session: Session,
    private readonly handler: unknown,
  ) {}

  start(): this {
    const { session } = this;
    const { handlerTimeout } = session.server.settings;
    session.owner = this;
    if (handlerTimeout > 0) session.context.timers.arm(this, handlerTimeout);
    return this;
  }

  /** The handler has settled. */
  end(): void {
    this.stop();
    if (this.session.owner === this) this.session.owner = undefined;
  }

  stop(): void {
    this.session.context.timers.forget(this);
  }

  onDeadline(): void {
    const { session } = this;
    if (session.owner !== this) return;
    const module = session.server.modules.get(this.handler);
    const name = module === undefined ? 'a handler' : `a handler of "${module}"`;
    session.context.log.write('error', `${name} timed out (110: Connection timed out)`, session);
    session.end(STREAM_INTERNAL_ERROR);
  }
}
