import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** Runs the header filters. False: one of them threw, and the answer it was about cannot be sent. */
export function filterHeader(request: Request): boolean {
  const { headerFilters } = request.location;
  let at = 0;
  try {
    for (; at < headerFilters.length; at++) headerFilters[at]?.(request);
    return true;
  } catch (error) {
    logFailure(request, error, headerFilters[at]);
    return false;
  }
}

/** Takes a piece of a body through the filters. Undefined: one of them threw. */
export function filterBody(request: Request, piece: Buffer, last: boolean): Buffer | undefined {
  const { bodyFilters } = request.location;
  let bytes = piece;
  let at = 0;
  try {
    for (; at < bodyFilters.length; at++) bytes = bodyFilters[at]?.(request, bytes, last) ?? bytes;
    return bytes;
  } catch (error) {
    logFailure(request, error, bodyFilters[at]);
    return undefined;
  }
}

/** Runs what a request leaves behind, each handler whatever becomes of the others. */
export function runLogHandlers(request: Request): void {
  for (const handler of request.location.logHandlers) {
    try {
      handler(request);
    } catch (error) {
      logFailure(request, error, handler);
    }
  }
}
