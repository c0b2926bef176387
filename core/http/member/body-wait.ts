import type { BodyWaiter } from '../request/stored-body.js';
import type { RequestOwner } from '../request/client-stream.js';
import type { Request } from '../request/request.js';

/** A request whose body has to be whole before a member is asked (proxy_request_buffering). */
export class BodyWait implements RequestOwner, BodyWaiter {
  readonly outlivesClient = false;

  constructor(
    private readonly request: Request,
    private readonly stored: (request: Request) => void,
  ) {}

  onBodyStored(): void {
    this.request.owner = undefined;
    if (!this.request.finished) this.stored(this.request);
  }

  onBodyFailed(status: number): void {
    const { request } = this;
    request.owner = undefined;
    if (!request.finished) request.context.flow.reject(request, status);
  }

  abort(): void {
    this.request.context.log.write('info', 'client prematurely closed connection', this.request);
  }

  discard(): void {}

  /** Nothing was sent to the client yet. */
  onDrain(): void {}
}
