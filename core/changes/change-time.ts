/** How long a change of the API may take: what every call has, and more for each edit of a large one. */
import { moreTime, type ActionContext } from '../contract/control.js';
import { unavailable } from './unavailable.js';

/** Time for one more edit in each of the steps (ms), many times its usual cost. */
const PER_EDIT = 1;
/** Parsing and compiling in the master, preparing in the workers, committing there. */
const STEPS = 3;
/** Less (ms) is within the time that every call has: the caller of so few edits is not notified. */
const WORTH_TELLING = 200;

/** Of the time that the caller still waits, what one step in the workers may take: it is to be notified of a failure in time. */
const SHARE_OF_STEP = 0.75;

export interface ChangeTime {
  /** For each of the two steps in the workers (ms). */
  readonly limit: number;
  /** Epoch milliseconds after which the caller does not wait any more. */
  readonly deadline: number;
}

/** Milliseconds for one step in the workers: what every call has, or more if the caller waits longer (`api_timeout`). @param deadline epoch milliseconds */
export function stepLimit(limit: number, deadline: number): number {
  return Number.isFinite(deadline) ? Math.max(limit, (deadline - Date.now()) * SHARE_OF_STEP) : limit;
}

/** The time for a change of so many edits, of which the caller is notified. @param limit of a small one */
export async function timeFor(edits: number, limit: number, context: Partial<ActionContext>): Promise<ChangeTime> {
  const { deadline = Infinity, extendDeadline } = context;
  const extra = edits * PER_EDIT;
  if (extendDeadline === undefined || extra * STEPS < WORTH_TELLING) return { limit: stepLimit(limit, deadline) + extra, deadline };
  const later = await moreTime({ dryRun: false, requestId: '', ...context }, extra * STEPS);
  return { limit: stepLimit(limit, deadline) + extra, deadline: later.deadline ?? Infinity };
}

/** @throws ApiError 503 when the caller does not wait any more */
export function assertInTime(deadline: number): void {
  if (Date.now() > deadline) throw unavailable('had no time for this change; nothing was changed');
}
