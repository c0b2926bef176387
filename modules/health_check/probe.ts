import type { Address } from '../../core/contract/address.js';

/** Why a check has failed. */
export interface CheckFailure {
  /** A few words, which callers of the API read: no part of a response. */
  readonly reason: string;
  /** The step that failed. */
  readonly step: string;
  /** This server could not ask: nothing is known of the member. */
  readonly isOwn?: true;
}

/** A check under way. */
export interface Probe {
  /** The time is over: ends it. Undefined: it has passed. */
  expire(): CheckFailure | undefined;
  /** Ends it without a result. */
  cancel(): void;
}

/** Begins a check of an address. @param done called once, and never before this returns: undefined: it has passed */
export type Prober = (address: Address, done: (failure: CheckFailure | undefined) => void) => Probe;

export const timedOut = (step: string): CheckFailure => ({ reason: 'timed out', step });
