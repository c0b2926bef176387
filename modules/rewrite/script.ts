import type { HttpRequest, Result } from '../../core/contract/http.js';

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

/** A directive that may have to wait for a file. */
export type WaitingStep = (request: HttpRequest) => Outcome | Promise<Outcome>;

/** Runs directives in the order they are written (ngx_http_script). A promise only where one of them waits. */
export function runSteps(steps: readonly Step[], request: HttpRequest): Outcome;
export function runSteps(steps: readonly WaitingStep[], request: HttpRequest): Outcome | Promise<Outcome>;
export function runSteps(steps: readonly WaitingStep[], request: HttpRequest): Outcome | Promise<Outcome> {
  let end = NEXT;
  let at = 0;
  for (const step of steps) {
    const outcome = step(request);
    at++;
    if (typeof outcome !== 'number') return goOn(outcome, steps.slice(at), request, end);
    if (outcome === CHANGED) end = CHANGED;
    else if (outcome !== NEXT) return outcome;
  }
  return end;
}

/** Runs the directives after one that waits. */
async function goOn(waiting: Promise<Outcome>, after: readonly WaitingStep[], request: HttpRequest, before: Outcome): Promise<Outcome> {
  const outcome = await waiting;
  if (outcome !== NEXT && outcome !== CHANGED) return outcome;
  const end = await runSteps(after, request);
  if (end !== NEXT) return end;
  return outcome === CHANGED ? CHANGED : before;
}
