import type { RequestOwner } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { run } from './phase-runner.js';

/** A request that has to wait (`delay` of a request): it continues with the next handler, unless its client leaves before. */
export class Delay implements RequestOwner {
  readonly outlivesClient = false;
  readonly #timer: NodeJS.Timeout;

  /** @param ms milliseconds */
  constructor(
    private readonly request: Request,
    ms: number,
  ) {
    // Not the coarse timers: a rate of 100r/s is a request every 10 ms.
    this.#timer = setTimeout(() => this.#over(), ms);
  }

  abort(): void {
    clearTimeout(this.#timer);
    this.request.context.log.write('info', 'client prematurely closed connection', this.request);
  }

  discard(): void {
    clearTimeout(this.#timer);
  }

  onDrain(): void {
    // Nothing was sent to the client yet.
  }

  #over(): void {
    const { request } = this;
    request.owner = undefined;
    request.context.clock.refresh();
    run(request);
  }
}
