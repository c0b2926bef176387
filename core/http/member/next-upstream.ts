import type { NextUpstream } from '../../contract/exchanges.js';

/** Why an attempt ended without a response. */
export const enum AttemptFailure {
  Error,
  Timeout,
  InvalidHeader,
}

/** Methods that a member must not get twice (RFC 9110, 9.2.2; nginx asks the same before it retries). */
const NOT_IDEMPOTENT = new Set(['POST', 'LOCK', 'PATCH']);

/** True if proxy_next_upstream names the failure. */
export function covers(next: NextUpstream, failure: AttemptFailure): boolean {
  if (failure === AttemptFailure.Timeout) return next.timeout;
  return failure === AttemptFailure.InvalidHeader ? next.invalidHeader : next.error;
}

/** Response for the client when no other member can be tried. */
export function statusOf(failure: AttemptFailure): number {
  return failure === AttemptFailure.Timeout ? 504 : 502;
}

/** True if a request that was sent may be sent to another member. */
export function isRepeatable(method: string, next: NextUpstream): boolean {
  return next.nonIdempotent || !NOT_IDEMPOTENT.has(method);
}
