import type { Generation } from '../../config/generations.js';
import type { HttpRequest } from '../../contract/http.js';
import type { Clock } from '../../net/clock.js';
import { runLast } from '../../run/handler-failure.js';
import { type HandledRequest, logFailure } from './handler-failure.js';

/** Handler of a module for the end of a request. */
export interface EndStep {
  readonly step: (request: HttpRequest) => unknown;
  /** The handler that asked for it, whose module a failure is logged with. */
  readonly handler: unknown;
  /** The one after it. */
  next: EndStep | undefined;
}

/** A request at its end. */
interface EndingRequest extends HandledRequest {
  readonly generation: Generation;
  readonly context: HandledRequest['context'] & { readonly clock: Pick<Clock, 'refresh'> };
  endSteps: EndStep | undefined;
  isOver: boolean;
}

/** Runs the log phase of a request, then its end steps, each whatever becomes of the others. */
export function runLogHandlers(request: EndingRequest): void {
  const { logHandlers } = request.location;
  if (logHandlers.length > 0) request.context.clock.refresh();
  for (const handler of logHandlers) runLast(request, handler, handler, logFailure);
  const first = request.endSteps;
  request.endSteps = undefined;
  request.isOver = true;
  for (let at = first; at !== undefined; at = at.next) runLast(request, at.step, at.handler, logFailure);
  request.generation.leave();
}
