import type { HttpRequest, Result } from '../../core/module/http.js';

/** The next directive follows. */
export const NEXT = -10;
/** The path was rewritten; the next directive follows, and at the end the location is chosen again. */
export const CHANGED = -11;
/** No further directives; the location is chosen again. */
export const LAST = -12;
/** No further directives; the request stays where it is. */
export const BREAK = -13;

/** One of the above, or the result of a handler: the request is finished. */
export type Outcome = Result;

/** One directive of the module at work. */
export type Step = (request: HttpRequest) => Outcome;

/** Runs directives in the order they are written (ngx_http_script). */
export function runSteps(steps: readonly Step[], request: HttpRequest): Outcome {
  let end = NEXT;
  for (const step of steps) {
    const outcome = step(request);
    if (outcome === CHANGED) end = CHANGED;
    else if (outcome !== NEXT) return outcome;
  }
  return end;
}
