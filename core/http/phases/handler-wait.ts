import type { Timed } from '../../net/timers.js';
import type { RequestOwner } from '../request/client-stream.js';
import { handlerName } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/**
 * A request that waits for a handler: for its promise, or for the response that the handler has promised with DONE. It ends with its client,
 * or with handler_timeout. Another owner of the request (an exchange, a streamed response) replaces it, and has time
 * limits of its own.
 */
export class HandlerWait implements RequestOwner, Timed {
  deadline = 0;
  slot = -1;
  readonly outlivesClient = false;
  /** Bytes of the request body when the time began. */
  #received = 0;

  /** @param fail responds with a status */
  constructor(
    private readonly request: Request,
    private readonly handler: unknown,
    private readonly fail: (request: Request, status: number) => void,
  ) {}

  start(): this {
    this.request.owner = this;
    this.#arm();
    return this;
  }

  /** The handler has settled, or the request goes on without it. */
  end(): void {
    const { request } = this;
    request.context.timers.forget(this);
    if (request.owner === this) request.owner = undefined;
  }

  abort(): void {
    const { request } = this;
    request.context.timers.forget(this);
    const reason = `client prematurely closed connection while waiting for ${handlerName(request, this.handler)}`;
    request.context.log.write('info', reason, request);
  }

  discard(): void {
    this.request.context.timers.forget(this);
  }

  /** Nothing was sent to the client yet. */
  onDrain(): void {}

  onDeadline(): void {
    const { request } = this;
    if (request.finished || request.owner !== this) return;
    // A client that still sends its body has client_body_timeout, and a handler that reads it is not late.
    if (request.body?.complete === false && request.body.received > this.#received) {
      this.#arm();
      return;
    }
    request.owner = undefined;
    const reason = `${handlerName(request, this.handler)} timed out (110: Connection timed out)`;
    request.context.log.write('error', reason, request);
    request.timeOut();
    this.fail(request, 504);
  }

  #arm(): void {
    const { body, context, location } = this.request;
    const { handlerTimeout } = location.settings;
    this.#received = body?.received ?? 0;
    if (handlerTimeout > 0) context.timers.arm(this, handlerTimeout);
  }
}
