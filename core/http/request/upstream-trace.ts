import type { MemberAttempt } from '../../contract/member-attempt.js';

/** Result of one attempt at a member. */
export interface AttemptFacts extends MemberAttempt {
  /** Address of the member; the upstream's name where there was none to ask. */
  readonly address: string;
  /** The first one after an internal redirect, or of all. */
  readonly first: boolean;
  /** False: there was no member to ask. */
  readonly isAsked: boolean;
  /** Bytes of `received` that were heads. */
  readonly headLength: number;
}

/** Trace of one request at its upstream. */
export interface UpstreamTrace {
  readonly attempts: readonly AttemptFacts[];
  /** Head of the last response, hidden fields included; empty before it came. */
  readonly responseHead: string;
  /** Trailers of that response: field lines, each with its CRLF. */
  readonly responseTrailers: string;
  /**
   * Requested URL for the error log: `http://10.0.0.1:80/path`; the upstream for the address if there is no member. Undefined without an attempt.
   */
  readonly url: string | undefined;
  /** Until when the response may be cached by its X-Accel-Expires: epoch milliseconds, 0: not at all. Undefined: it says nothing. */
  readonly expires: number | undefined;
}
