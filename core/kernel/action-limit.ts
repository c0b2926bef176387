import type { ActionContext } from '../contract/control.js';
import { TimeIsOver, within } from '../changes/time-limit.js';
import { CALL_MS, type LimitedCall } from './call-limit.js';
import type { LoopGuard } from './loop-guard.js';

/** Calls the actions of modules that do not come with srv: in the main thread, where no other thread could end them. */
export class ActionLimit {
  /** @param ms longest time of an action beyond that which it has asked for */
  constructor(
    private readonly guard: LoopGuard,
    private readonly ms = CALL_MS,
  ) {}

  /**
   * @param limited ends the first part of the action, until it waits for something
   * @returns what the action returns
   * @throws what it throws, or an Error when it takes too long: what it waits for may go on
   */
  async call(action: (context: ActionContext) => unknown, context: ActionContext, limited: LimitedCall): Promise<unknown> {
    let end = Date.now() + this.ms;
    const extendDeadline = (ms: number): void => {
      end = Math.max(end, Date.now() + ms + this.ms);
      context.extendDeadline?.(ms);
    };
    const result = limited(() => action({ ...context, extendDeadline }));
    return result instanceof Promise ? this.guard.during(this.#until(() => end, result)) : result;
  }

  async #until(end: () => number, work: Promise<unknown>): Promise<unknown> {
    for (;;) {
      try {
        return await within(end() - Date.now(), work);
      } catch (error) {
        if (!(error instanceof TimeIsOver)) throw error;
        if (end() <= Date.now()) throw new Error(`it did not finish within ${this.ms / 1000} s`, { cause: error });
      }
    }
  }
}
