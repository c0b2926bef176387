/** The calls of a transaction in the control plane: each goes through its own route, and all reach the data plane as one. */
import { ApiError, type ActionContext } from '../contract/control.js';
import type { CarriedCall, CarriedOut, CarriedResponse } from '../contract/api-routes.js';
import { withinTransaction } from './access/caller.js';
import { CallTrail, type ApiCall, type ApiResponse } from './api-call.js';
import { stepsOf } from './api-path.js';
import type { GatheredCall, GatheringDataPlane } from './gathering-data-plane.js';
import { toMessage, TRANSACTION, type ReplyMessage, type TransactionReply } from './rpc-messages.js';

/** The header fields of a response that say something of the change. */
const SHOWN_FIELDS = new Set(['ETag', 'Location']);

/** Result of calls that were valid themselves. */
const NOT_APPLIED: ReplyMessage = {
  error: toMessage(new ApiError(424, 'NotApplied', 'another call of the transaction failed; nothing was changed')),
};

/** @param respond carries a call out as if it had come alone */
export async function carryOutTogether(
  calls: readonly ApiCall[],
  respond: (call: ApiCall) => Promise<ApiResponse>,
  plane: GatheringDataPlane,
  context: ActionContext,
): Promise<CarriedOut> {
  if (plane.isGathering) throw new ApiError(400, 'NotTransactional', 'a transaction cannot be a part of another one');
  const gathered = calls.map((call) => plane.gather(() => respond(call)));
  await Promise.all(gathered.map(({ ready }) => ready));
  const { version, diff } = await settle(gathered, plane, context);
  const responses = await Promise.all(gathered.map(async ({ response }) => shown(await response)));
  return { version, diff, responses };
}

async function settle(
  gathered: readonly GatheredCall<ApiResponse>[],
  plane: GatheringDataPlane,
  context: ActionContext,
): Promise<Pick<CarriedOut, 'version' | 'diff'>> {
  const early = await Promise.all(gathered.filter(({ sent }) => sent === undefined).map(({ response }) => response));
  if (early.some(({ status }) => status >= 400)) {
    for (const call of gathered) call.settle(NOT_APPLIED);
    return { version: 0, diff: [] };
  }
  const waiting = gathered.filter(({ sent }) => sent !== undefined);
  try {
    const params = { calls: waiting.flatMap(({ sent = [] }) => sent) };
    const { outcomes, version, diff } = await plane.call<TransactionReply>(TRANSACTION, params, context);
    const hasFailed = outcomes.some((outcome) => 'error' in outcome);
    for (const [at, outcome] of outcomes.entries()) waiting[at]?.settle(hasFailed && 'value' in outcome ? NOT_APPLIED : outcome);
    return { version, diff };
  } catch (error) {
    for (const call of waiting) call.settle(NOT_APPLIED);
    throw error;
  }
}

function shown({ status, headers, type, body }: ApiResponse): CarriedResponse {
  const fields = Object.entries(headers).filter(([name]) => SHOWN_FIELDS.has(name));
  const value: unknown = type?.startsWith('application/json') === true ? JSON.parse(body) : body;
  return { status, headers: Object.fromEntries(fields), ...(body !== '' && { body: value }) };
}

/** A call that another one carries: whatever that says of its client holds for it as well. */
export function carriedCall(outer: ApiCall, { method, path, body, ifMatch, ifNoneMatch }: CarriedCall): ApiCall {
  const own = new Map([
    ['content-type', 'application/json'],
    ['if-match', ifMatch],
    ['if-none-match', ifNoneMatch],
  ]);
  const below = path.startsWith(`${outer.base}/v1/`) ? path.slice(outer.base.length) : path;
  const [plain = '', ...queries] = below.split('?');
  return {
    ...outer,
    // Whether anything may be changed is a matter of the whole transaction.
    caller: withinTransaction(outer.caller),
    trail: new CallTrail(),
    method,
    href: outer.base + plain,
    // Paths and queries are strings of bytes.
    steps: stepsOf(Buffer.from(plain).toString('latin1')),
    query: Buffer.from(queries.join('?')).toString('latin1'),
    header: (name) => (own.has(name) ? own.get(name) : outer.header(name)),
    body: (limit) => bodyOf(body, limit),
  };
}

async function bodyOf(body: unknown, limit: number): Promise<Buffer> {
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
  if (bytes.length <= limit) return bytes;
  throw new ApiError(413, 'BodyTooLarge', `the body of the call is longer than ${limit} bytes`);
}
