import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError } from '../contract/control.js';
import type { StagedChange } from './staged-change.js';

/**
 * The change that the running code takes part in. The staged result of one call of a transaction is visible to the calls after it only:
 * services find here the tree for their caller. Only where the API changes something; requests never come here.
 */
export class Staging {
  readonly #changes = new AsyncLocalStorage<StagedChange>();

  /** Undefined: the caller sees the current configuration. */
  get current(): StagedChange | undefined {
    const change = this.#changes.getStore();
    return change?.isOpen === true ? change : undefined;
  }

  /** Runs a call of a transaction. */
  run<T>(change: StagedChange, call: () => T): T {
    return this.#changes.run(change, call);
  }
}

/**
 * For what is changed in another way than the configuration.
 * @throws ApiError 400 `NotTransactional` in a transaction: it would stay when the transaction fails
 */
export function assertAlone({ current }: Staging): void {
  if (current !== undefined) throw notTransactional();
}

export function notTransactional(): ApiError {
  return new ApiError(400, 'NotTransactional', 'this call cannot be a part of a transaction: send it alone');
}

/** The history has what is written down, and lacks the calls before: a rollback would bring back what they brought back already. */
export function rollbackNotFirst(): ApiError {
  return new ApiError(400, 'NotTransactional', 'a rollback must be the first call of a transaction that changes something');
}
