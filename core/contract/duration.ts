/** Lengths of time: as configurations write them, as the API takes and shows them. */
import { ApiError } from './control.js';
import { ArgError, type JsonSchema } from './spec.js';

const TIME_UNITS: Readonly<Record<string, number>> = {
  y: 31536e6,
  M: 2592e6,
  w: 6048e5,
  d: 864e5,
  h: 36e5,
  m: 6e4,
  s: 1e3,
  ms: 1,
  '': 1e3,
};
const TIME_ORDER = ['y', 'M', 'w', 'd', 'h', 'm', 's', 'ms'];

/** Milliseconds of a time such as `500ms`, `10s`, `1h 30m`, `1d12h`; a bare number is seconds. Undefined if malformed. */
export function parseTime(value: string): number | undefined {
  if (!/^\s*\d/.test(value)) return undefined;
  let total = 0;
  let last = -1;
  const part = /\s*(\d{1,12})(ms|[yMwdhms]?)/y;
  while (part.lastIndex < value.length) {
    const match = part.exec(value);
    if (!match) return undefined;
    const unit = match[2] ?? '';
    const order = TIME_ORDER.indexOf(unit === '' ? 's' : unit);
    if (order <= last) return undefined;
    last = order;
    total += Number(match[1]) * (TIME_UNITS[unit] ?? 0);
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Milliseconds as text: `90s` in whole seconds, else `1500ms`. NGINX Plus clients read no other units. */
export function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

/** The same for a configuration, where a number has at most 12 digits. */
export function timeText(ms: number): string {
  return ms < 1e12 || ms % 1000 === 0 ? durationText(ms) : `${Math.floor(ms / 1000)}s${ms % 1000}ms`;
}

/** A length of time in the body of a call: text as in a configuration (`500ms`, `1m30s`), or a number of seconds. */
export type Duration = string | number;

const FORM = 'a time such as 500ms, 10s, 1m30s, or a number of seconds, below 1000000000s';
/** Every time below has a form in whole seconds or milliseconds that a configuration can be read back with. */
const TOO_LONG = 1e12;

/** The schema of a {@link Duration}. */
export const DURATION_SCHEMA: JsonSchema = {
  type: ['string', 'number'],
  pattern: String.raw`^(?=\d)(\d+y)?\s?(\d+M)?\s?(\d+w)?\s?(\d+d)?\s?(\d+h)?\s?(\d+m(?!s))?\s?(\d+s?)?\s?(\d+ms)?$`,
  maxLength: 32,
  minimum: 0,
  exclusiveMaximum: TOO_LONG / 1000,
  description: FORM,
};

/** Milliseconds of a value that {@link DURATION_SCHEMA} let pass. @throws ArgError if it is 1000000000 seconds or longer */
export function durationMs(value: Duration): number {
  // 0 means something else in most places: what is longer than that is a millisecond at least.
  const ms = typeof value === 'number' ? Math.max(Math.round(value * 1000), Math.sign(value)) : parseTime(value);
  if (ms !== undefined && ms < TOO_LONG) return ms;
  throw new ArgError(`must be ${FORM}`);
}

/**
 * As {@link durationMs}, for a field of a call.
 * @param pointer where it is in the body
 * @throws ApiError 400 `InvalidField`
 */
export function durationOf(value: Duration, pointer: string): number {
  try {
    return durationMs(value);
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    const { message } = error;
    throw new ApiError(400, 'InvalidField', `${pointer}: ${message}`, [{ pointer, message }]);
  }
}
