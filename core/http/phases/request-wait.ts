import { HandlerWait } from '../../run/handler-wait.js';
import type { RequestOwner } from '../request/client-stream.js';
import { handlerName } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** A request that waits for a handler. It ends with its client as well. */
export class RequestWait extends HandlerWait<Request> implements RequestOwner {
  readonly outlivesClient = false;
  /** Bytes of the request body when the time began. */
  #received = 0;

  /** @param fail responds with a status */
  constructor(
    request: Request,
    handler: unknown,
    private readonly fail: (request: Request, status: number) => void,
  ) {
    super(request, handler);
  }

  abort(): void {
    const { subject } = this;
    subject.context.timers.forget(this);
    subject.context.log.write('info', `client prematurely closed connection while waiting for ${this.handlerName}`, subject);
  }

  discard(): void {
    this.subject.context.timers.forget(this);
  }

  /** Nothing was sent to the client yet. */
  onDrain(): void {}

  override onDeadline(): void {
    const { body, finished } = this.subject;
    if (finished) return;
    // A client that still sends its body has client_body_timeout, and a handler that reads it is not late.
    if (this.isAwaited && body?.complete === false && body.received > this.#received) this.arm();
    else super.onDeadline();
  }

  protected override arm(): void {
    this.#received = this.subject.body?.received ?? 0;
    super.arm();
  }

  protected get limit(): number {
    return this.subject.location.settings.handlerTimeout;
  }

  protected get handlerName(): string {
    return handlerName(this.subject, this.handler);
  }

  protected giveUp(): void {
    this.subject.timeOut();
    this.fail(this.subject, 504);
  }
}
