/** Age of responses (RFC 9111, 4.2.3). */
import { parseDate } from './dates.js';
import type { Fields } from './fields.js';

/** Seconds of an Age field: of a list the first member, 0 if that is not a number of seconds (RFC 9111, 5.1). */
export function parseAge(value: string | undefined): number {
  const [, digits] = /^\s*(\d+)\s*(?:,|$)/.exec(value ?? '') ?? [];
  return digits === undefined ? 0 : Math.min(Number(digits), 2 ** 31);
}

/**
 * Epoch milliseconds when the age of a response was 0: by its Age, to which the whole time of the exchange is added, or by its Date, whichever is
 * earlier.
 */
export function birthOf(fields: Fields, requestTime: number, responseTime: number): number {
  const correctedAge = parseAge(fields.get('age')) * 1000 + Math.max(0, responseTime - requestTime);
  const date = parseDate(fields.get('date') ?? '', responseTime);
  // A Date has whole seconds: the fraction does not count.
  const apparentAge = Number.isNaN(date) ? 0 : Math.max(0, Math.floor((responseTime - date) / 1000) * 1000);
  return responseTime - Math.max(correctedAge, apparentAge);
}
