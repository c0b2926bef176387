import type { Attempt } from '../upstream/attempt.js';

/** What happened between one request and its upstream. */
export interface UpstreamTrace {
  readonly attempts: readonly Attempt[];
  /** Head of the last answer, hidden fields included; empty before it came. */
  readonly answerHead: string;
  /**
   * For the error log, what is asked for: `http://10.0.0.1:80/path`; the group for the address if there is no member. Undefined while
   * nobody is asked.
   */
  readonly url: string | undefined;
}
