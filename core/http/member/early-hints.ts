import { keptFields } from '../../net/http1/fields.js';
import type { Request } from '../request/request.js';
import type { Attempt } from './attempt.js';
import type { MemberRoute } from './member-route.js';
import { cookiesRewritten } from './upstream-head.js';

const EARLY_HINTS = 103;
/** Interim responses that a member may send before the final one: some send a 102 every few seconds. */
const MOST = 1000;

/**
 * Passes a 103 (RFC 8297) to the client, if the location says so (early_hints); other interim responses end here. Its head is in the scratch of
 * the context.
 * @returns for the log: why the attempt fails; empty: it does not
 */
export function passInterim(request: Request, route: MemberRoute, attempt: Attempt): string {
  const { context, stream } = request;
  const { responseHead: head } = context;
  attempt.interims++;
  if (attempt.interims > MOST) return 'too many interim responses';
  if (head.status !== EARLY_HINTS || !isWanted(request)) return '';
  attempt.hintBytes += head.text.length;
  if (attempt.hintBytes > route.headLimits.total) return 'too big early hints';
  const lines = cookiesRewritten(request, route, keptFields(head.text, head, route.hidden));
  if (lines !== undefined && lines !== '') stream.writeInterim(request, '103 Early Hints', lines);
  return '';
}

function isWanted(request: Request): boolean {
  if (request.finished || request.headSent) return false;
  for (const condition of request.location.settings.earlyHints) {
    const value = condition.of(request);
    if (value !== '' && value !== '0') return true;
  }
  return false;
}
