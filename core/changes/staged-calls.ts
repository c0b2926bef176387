/** The calls of a transaction with several, one after the other, before any of them is active. */
import { type ActionContext, type ApiError } from '../contract/control.js';
import type { StagedChange } from './staged-change.js';

/** Milliseconds that a call more may take, many times of what it should take. */
export const PER_CALL = 10;

/** Result of a call, or why it cannot be made. */
export type CallOutcome = { readonly value: unknown } | { readonly error: ApiError };

/** Never rejects. */
export type StagedCall = (time: Pick<ActionContext, 'deadline' | 'extendDeadline'>) => Promise<CallOutcome>;

export interface Together {
  /** Of the configuration: the new one, unless a call failed or it was a dry run. */
  readonly version: number;
  /** In the order of the calls. */
  readonly outcomes: readonly CallOutcome[];
  /** Of a dry run, see {@link Applied.diff}. */
  readonly diff: readonly string[];
}

export const hasFailed = (outcome: CallOutcome): boolean => 'error' in outcome;

/** The time of a transaction, which each of its calls may extend. */
export class SharedDeadline {
  deadline: number;
  readonly #extend: ActionContext['extendDeadline'];

  constructor({ deadline = Infinity, extendDeadline }: Pick<ActionContext, 'deadline' | 'extendDeadline'>) {
    this.deadline = deadline;
    this.#extend = extendDeadline;
  }

  get ofCall(): Pick<ActionContext, 'deadline' | 'extendDeadline'> {
    const { deadline } = this;
    const extend = this.#extend;
    if (extend === undefined) return { deadline };
    const extendDeadline = (ms: number): void => {
      this.deadline = Date.now() + ms;
      extend(ms);
    };
    return { deadline, extendDeadline };
  }
}

/**
 * Carries the calls out on the tree that is being put together. After one that fails the others are tried without it, so that the caller
 * learns of every error at once.
 * @param run as a part of the change
 */
export async function stageCalls(
  calls: readonly StagedCall[],
  change: StagedChange,
  clock: SharedDeadline,
  run: (call: () => Promise<CallOutcome>) => Promise<CallOutcome>,
): Promise<CallOutcome[]> {
  const outcomes: CallOutcome[] = [];
  for (const [at, call] of calls.entries()) {
    change.begin(at);
    const outcome = await run(() => call(clock.ofCall));
    if (hasFailed(outcome)) change.undo();
    outcomes.push(outcome);
  }
  return outcomes;
}
