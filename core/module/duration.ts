import { parseTime } from './args.js';
import { ApiError } from './control.js';

/** A length of time in the body of a call: text as in a configuration (`500ms`, `1m30s`), or a number of seconds. */
export type Duration = string | number;

/** What an error says is expected. */
export const DURATION_FORM = 'a time such as 500ms, 10s, 1m30s, or a number of seconds, below 1000000000s';
/** Every time below has a form in whole seconds or milliseconds that a configuration can be read back with. */
export const TOO_LONG = 1e12;

/**
 * Milliseconds of a value that `duration()` of schema.ts let pass.
 * @param pointer where it stands in the body
 * @throws ApiError 400 `InvalidField` if it is 1000000000 seconds or longer
 */
export function durationOf(value: Duration, pointer: string): number {
  // 0 means something else in most places: what is longer than that is a millisecond at least.
  const ms = typeof value === 'number' ? Math.max(Math.round(value * 1000), Math.sign(value)) : parseTime(value);
  if (ms !== undefined && ms < TOO_LONG) return ms;
  const message = `must be ${DURATION_FORM}`;
  throw new ApiError(400, 'InvalidField', `${pointer}: ${message}`, [{ pointer, message }]);
}

/** The text of a time in responses: `90s` in whole seconds, else `1500ms`. NGINX Plus clients read no other units. @param ms milliseconds */
export function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}
