import type { ActionContext } from '../contract/control.js';

/** How often the caller is notified that it has to wait, and how long it waits then. Milliseconds. */
const EXTEND_EVERY_MS = 1000;
const EXTENSION_MS = 3000;
/** A change of several nodes is waited for until it has an outcome, but not longer than this. Milliseconds. */
const LONGEST_MS = 60_000;

type Caller = Pick<ActionContext, 'deadline' | 'extendDeadline'>;

/**
 * Keeps the caller waiting for the outcome of a change: whether a log of several nodes has it may be known later than a call has time for.
 * @param work gets the context with the later deadline
 */
export async function untilDecided<C extends Caller, T>(context: C, work: (context: C) => Promise<T>): Promise<T> {
  const { extendDeadline } = context;
  if (extendDeadline === undefined) return work(context);
  const deadline = Date.now() + LONGEST_MS;
  const timer = setInterval(() => extendDeadline(Math.min(EXTENSION_MS, deadline - Date.now())), EXTEND_EVERY_MS).unref();
  try {
    return await work({ ...context, deadline });
  } finally {
    clearInterval(timer);
  }
}
