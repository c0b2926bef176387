import type { Generation } from '../../config/generations.js';
import type { HttpRequest } from '../../contract/http.js';
import { runLast } from '../../run/handler-failure.js';
import { type HandledRequest, logFailure } from './handler-failure.js';

/** Handler of a module for the end of a request. */
export interface EndStep {
  readonly step: (request: HttpRequest) => unknown;
  /** The handler that asked for it, whose module a failure is logged with. */
  readonly handler: unknown;
}

/** A request at its end. */
interface EndingRequest extends HandledRequest {
  readonly generation: Generation;
  endSteps: EndStep[] | undefined;
  isOver: boolean;
}

/** Runs the log phase of a request, then its end steps, each whatever becomes of the others. */
export function runLogHandlers(request: EndingRequest): void {
  for (const handler of request.location.logHandlers) runLast(request, handler, handler, logFailure);
  const { endSteps } = request;
  request.endSteps = undefined;
  request.isOver = true;
  if (endSteps !== undefined) for (const { step, handler } of endSteps) runLast(request, step, handler, logFailure);
  request.generation.leave();
}
