import { logFailure } from './handler-failure.js';
import type { Request } from './request.js';

/** Handler of a module for the end of a request. */
export interface EndStep {
  readonly step: (request: Request) => unknown;
  /** The handler that asked for it, whose module a failure is logged with. */
  readonly handler: unknown;
}

/** Runs the log phase of a request, then its end steps, each whatever becomes of the others. */
export function runLogHandlers(request: Request): void {
  for (const handler of request.location.logHandlers) runLast(request, handler, handler);
  const { endSteps } = request;
  request.endSteps = undefined;
  request.isOver = true;
  if (endSteps !== undefined) for (const { step, handler } of endSteps) runLast(request, step, handler);
  request.generation.leave();
}

/** Runs a handler or a step of a request that is over: its result is not waited for. */
export function runLast(request: Request, step: EndStep['step'], handler: unknown): void {
  try {
    const returned = step(request);
    if (returned instanceof Promise) returned.catch((error: unknown) => logFailure(request, error, handler));
  } catch (error) {
    logFailure(request, error, handler);
  }
}
