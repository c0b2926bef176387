import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError } from '../module/control.js';
import type { StagedChange } from './staged-change.js';

/**
 * Which change the code that runs now takes part in. What one call of a transaction has staged is seen by the calls after it, and by nobody
 * else: services look here for the tree that their caller is to see. Only where the API changes something; requests never come here.
 */
export class Staging {
  readonly #changes = new AsyncLocalStorage<StagedChange>();

  /** Undefined: the caller sees what is in force. */
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
  if (current !== undefined) throw new ApiError(400, 'NotTransactional', 'this call cannot be a part of a transaction: send it alone');
}
