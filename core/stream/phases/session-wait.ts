import { STREAM_INTERNAL_ERROR } from '../../contract/stream.js';
import { describeHandler } from '../../run/handler-failure.js';
import { HandlerWait } from '../../run/handler-wait.js';
import type { SessionOwner } from '../session/session-owner.js';
import type { Session } from '../session/session.js';

/** A session that waits for a handler. */
export class SessionWait extends HandlerWait<Session> implements SessionOwner {
  stop(): void {
    this.subject.context.timers.forget(this);
  }

  leave(): void {
    this.end();
  }

  protected get limit(): number {
    return this.subject.server.settings.handlerTimeout;
  }

  protected get handlerName(): string {
    return describeHandler(this.subject.server.modules.get(this.handler));
  }

  protected giveUp(): void {
    this.subject.end(STREAM_INTERNAL_ERROR);
  }
}
