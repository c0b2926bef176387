/** Handling of a member's response between the arrival of its head and its relay: one step a feature, in nginx's order. */
import type { ExchangePlan } from '../../contract/exchanges.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { accelLimitRate, accelRedirect, accelSettings } from './accel.js';
import type { Exchange } from './exchange.js';
import { AttemptFailure } from './next-upstream.js';
import { openMemberTunnel } from './member-tunnel.js';
import { replaced } from './module-steps.js';
import { openTunnel } from './tunnel.js';
import { namedFields } from './upstream-head.js';

/**
 * Looks at a response whose head is in the scratch, with the fields found in `exchange.route.fields`.
 * @returns true if it has dealt with the response, and nothing of it is relayed
 */
export type ResponseStep = (exchange: Exchange, head: ResponseHead) => boolean;

/** The only step of a plan whose members are joined with clients of CONNECT. */
export const TUNNEL_STEPS: readonly ResponseStep[] = [openMemberTunnel];

/** The steps that a plan needs: what is not configured is not asked. */
export function responseSteps({ next, interceptErrors, ignored }: ExchangePlan): ResponseStep[] {
  return [
    switchProtocols,
    ...(ignored.has('x-accel-limit-rate') ? [] : [accelLimitRate]),
    ...(next.statuses.size > 0 ? [askNext] : []),
    ...(interceptErrors ? [interceptError] : []),
    ...(ignored.has('x-accel-redirect') ? [] : [accelRedirect]),
    accelSettings,
  ];
}

/** 101: both connections leave HTTP. */
function switchProtocols(exchange: Exchange, head: ResponseHead): boolean {
  if (head.status !== 101) return false;
  if (exchange.request.upgrade) openTunnel(exchange, head);
  else exchange.fail(AttemptFailure.InvalidHeader, 'upstream sent 101 to a request without Upgrade');
  return true;
}

/** proxy_next_upstream with a status: another member may do better. */
function askNext(exchange: Exchange, { status }: ResponseHead): boolean {
  if (!exchange.route.plan.next.statuses.has(status) || !exchange.mayAskNext()) return false;
  exchange.askNext(status !== 403 && status !== 404);
  return true;
}

/** proxy_intercept_errors: error_page makes the response. */
function interceptError(exchange: Exchange, head: ResponseHead): boolean {
  const { request } = exchange;
  const { status } = head;
  if (status < 300 || !request.location.settings.errorPages.some(({ codes }) => codes.includes(status))) return false;
  // Challenges for the client are sent with the page (as in nginx).
  if (status === 401) request.response.appendLines(namedFields(head, 'www-authenticate'));
  replaced(request);
  exchange.leave();
  request.context.flow.reject(request, status);
  return true;
}
