/** When a call of a collector is repeated (OTLP specification, "OTLP/HTTP Response"). */

/** Statuses of which the specification says so; others are final. */
const RETRYABLE = new Set([429, 502, 503, 504]);
/** First pause, longest one, and by how much each is longer than the one before. Milliseconds. */
const FIRST = 1000;
const LONGEST = 30_000;
const GROWTH = 2;
/** A collector may ask for a pause up to this. */
const LONGEST_ASKED = 300_000;

export const isRetryable = (status: number): boolean => RETRYABLE.has(status);

/**
 * Milliseconds before the next call.
 * @param calls of the same batch so far
 * @param retryAfter the field of the response: seconds or a date
 */
export function pauseBefore(calls: number, retryAfter: string | undefined, now: number): number {
  const asked = askedPause(retryAfter, now);
  if (asked !== undefined) return Math.min(asked, LONGEST_ASKED);
  const pause = Math.min(LONGEST, FIRST * GROWTH ** (calls - 1));
  // Nodes that lost a collector together do not come back together.
  return pause * (0.8 + Math.random() * 0.4);
}

function askedPause(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
