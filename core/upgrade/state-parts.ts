import type { Log } from '../contract/log.js';
import type { CarriedState } from '../zone/carried-state.js';
import type { StatePart } from './messages.js';

/** Gives all state at the first call, later what has changed since. */
export function stateGiver(carried: readonly CarriedState[]): () => readonly StatePart[] {
  const givers = carried.map((state) => ({ form: state.form, next: state.give() }));
  return () => givers.map(({ form, next }) => ({ form, data: next() })).filter(({ data }) => data !== undefined);
}

/** Hands each part to what knows its form. One that cannot be taken over is left out: the server begins again with it. */
export class StateTaker {
  constructor(
    private readonly carried: readonly CarriedState[],
    private readonly log: Log,
  ) {}

  /** The configuration is not active yet. */
  expect(parts: readonly StatePart[]): void {
    this.#each(parts, (state, data) => state.expect?.(data));
  }

  take(parts: readonly StatePart[]): void {
    this.#each(parts, (state, data) => state.take(data));
  }

  #each(parts: readonly StatePart[], work: (state: CarriedState, data: unknown) => void): void {
    for (const { form, data } of parts) {
      const state = this.carried.find((one) => one.form === form);
      if (state === undefined) {
        this.log.write('warn', `upgrade: "${form}" of the program before is not known here: it starts empty`);
        continue;
      }
      try {
        work(state, data);
      } catch (error) {
        this.log.write('error', `upgrade: "${form}" cannot be taken over: ${(error as Error).stack ?? String(error)}`);
      }
    }
  }
}
