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

/** Milliseconds before the next call. @param calls of the same batch so far */
export function pauseBefore(calls: number): number {
  const pause = Math.min(LONGEST, FIRST * GROWTH ** (calls - 1));
  // Nodes that lost a collector together do not come back together.
  return pause * (0.8 + Math.random() * 0.4);
}

/**
 * Pause that the collector asks for, milliseconds: one that asks for none is not called in a loop. Undefined: it does not say.
 * @param retryAfter the field of the response: seconds or a date
 */
export function askedPause(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const asked = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
  return Number.isNaN(asked) ? undefined : Math.min(Math.max(asked, FIRST), LONGEST_ASKED);
}
