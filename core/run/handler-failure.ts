import { errorOf, NamedFailure, stackOf } from '../contract/thrown.js';

/**
 * `a handler of "acme_http_x_module"`, for the log.
 * @param module undefined: it is not known which one
 */
export function describeHandler(module: string | undefined, what = 'handler'): string {
  return module === undefined ? `a ${what}` : `a ${what} of "${module}"`;
}

/** Text for the log about an exception of a module, with its stack. */
export function failureText(thrown: unknown, module: string | undefined): string {
  const error = errorOf(thrown);
  return error instanceof NamedFailure ? error.message : `${describeHandler(module)} failed: ${stackOf(error)}`;
}

/**
 * Runs a handler or a step of what is over: its result is not waited for.
 * @param logFailure a function that is always the same one: this runs for every request
 */
export function runLast<S>(
  subject: S,
  step: (subject: S) => unknown,
  handler: unknown,
  logFailure: (subject: S, thrown: unknown, handler: unknown) => void,
): void {
  try {
    const returned = step(subject);
    if (returned !== undefined && returned instanceof Promise) returned.catch((error: unknown) => logFailure(subject, error, handler));
  } catch (error) {
    logFailure(subject, error, handler);
  }
}
