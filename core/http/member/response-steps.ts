/** What becomes of a member's response between the arrival of its head and its relay: one step a feature, in nginx's order. */
import type { ExchangePlan } from '../../module/services.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import { BODY_LENGTH, BODY_NONE, responseBodyKind, type ResponseHead } from '../../net/http1/response-head.js';
import { accelLimitRate, accelRedirect, accelSettings } from './accel.js';
import type { Exchange } from './exchange.js';
import { Failure } from './next-upstream.js';
import { openTunnel } from './tunnel.js';
import { namedFields } from './upstream-head.js';

/** A response whose head is in the scratch, with the fields found in `exchange.route.fields`. Valid during the call of a step. */
export interface MemberResponse {
  readonly head: ResponseHead;
  readonly connection: PeerConnection;
  /** What was read last: from `bodyStart` on it is of the body. */
  readonly bytes: Buffer;
  readonly bodyStart: number;
  /** The bytes are in memory of the connection, see Lender. */
  readonly borrowed: boolean;
}

/** True: the step has dealt with the response, and nothing of it is relayed. */
export type ResponseStep = (exchange: Exchange, response: MemberResponse) => boolean;

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

/** The response is complete with its head: nothing of it is to come, and its connection may serve another request. */
export function isWhole(method: string, { head, bytes, bodyStart }: MemberResponse): boolean {
  const kind = responseBodyKind(method, head);
  const here = bytes.length - bodyStart;
  return head.keepAlive && (kind === BODY_NONE ? here === 0 : kind === BODY_LENGTH && here === head.contentLength);
}

/** 101: both connections leave HTTP. */
function switchProtocols(exchange: Exchange, { head, connection, bytes, bodyStart }: MemberResponse): boolean {
  if (head.status !== 101) return false;
  if (exchange.request.upgrade) openTunnel(exchange, head, connection, bytes, bodyStart);
  else exchange.fail(Failure.InvalidHeader, 'upstream sent 101 to a request without Upgrade');
  return true;
}

/** proxy_next_upstream with a status: another member may do better. */
function askNext(exchange: Exchange, { head: { status } }: MemberResponse): boolean {
  if (!exchange.route.plan.next.statuses.has(status) || !exchange.mayAskNext()) return false;
  exchange.askNext(status !== 403 && status !== 404);
  return true;
}

/** proxy_intercept_errors: error_page makes the response. */
function interceptError(exchange: Exchange, response: MemberResponse): boolean {
  const { request } = exchange;
  const { status } = response.head;
  if (status < 300 || !request.location.settings.errorPages.some(({ codes }) => codes.includes(status))) return false;
  // What the client has to reply to goes with the page (nginx does the same).
  if (status === 401) request.response.appendLines(namedFields(response.head, 'www-authenticate'));
  exchange.leave(response);
  request.context.flow.reject(request, status);
  return true;
}
