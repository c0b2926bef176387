import type { ActionContext } from '../contract/control.js';

/** How often the caller is notified that it has to wait, and how long it waits then. Milliseconds. */
const EXTEND_EVERY_MS = 1000;
const EXTENSION_MS = 3000;
/** A change of several nodes is waited for until it has an outcome, but not longer than this. Milliseconds. */
const LONGEST_MS = 60_000;

type Caller = Pick<ActionContext, 'deadline' | 'extendDeadline'>;

/**
 * Keeps the caller waiting for the outcome of a change: whether a log of several nodes has it may be known later than a call has time for.
 * @param work gets the context with a deadline that stays as far away as it was: steps in the workers have the same time after a wait for the log
 */
export async function untilDecided<C extends Caller, T>(context: C, work: (context: C) => Promise<T>): Promise<T> {
  const { extendDeadline, deadline = Infinity } = context;
  if (extendDeadline === undefined) return work(context);
  const began = Date.now();
  const timer = setInterval(() => {
    if (Date.now() < began + LONGEST_MS) extendDeadline(EXTENSION_MS);
  }, EXTEND_EVERY_MS).unref();
  const waiting = {
    ...context,
    get deadline() {
      return deadline + Math.min(LONGEST_MS, Date.now() - began);
    },
  };
  try {
    return await work(waiting);
  } finally {
    clearInterval(timer);
  }
}
