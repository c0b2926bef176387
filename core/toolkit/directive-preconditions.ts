import { assertPreconditions, type Preconditions } from '../contract/control.js';
import type { Transactions } from '../contract/transactions.js';
import type { Directive } from '../contract/tree.js';

/**
 * Preconditions of a call that changes a directive: `If-Match` may also name the version of the whole configuration.
 * @param directive undefined: what the call adds
 * @throws ApiError 412 `VersionMismatch`
 */
export function assertDirectivePreconditions(transactions: Transactions, conditions: Preconditions, directive?: Directive): void {
  assertPreconditions(
    conditions,
    () => directive && transactions.versionOf(directive),
    () => [String(transactions.version)],
  );
}
