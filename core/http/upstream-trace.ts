/** One attempt at a member, for `$upstream_*` and logs. Times in milliseconds, -1: it did not come to that. */
export interface Attempt {
  readonly address: string;
  /** The first one after an internal redirect, or of all. */
  readonly first: boolean;
  status: number;
  connectTime: number;
  headerTime: number;
  responseTime: number;
  sent: number;
  received: number;
  /** Bytes of `received` that were heads. */
  headLength: number;
}

/** What happened between one request and its upstream. */
export interface UpstreamTrace {
  readonly attempts: readonly Attempt[];
  /** Head of the last answer, hidden fields included; empty before it came. */
  readonly answerHead: string;
  /** What is asked for: `http://10.0.0.1:80/path`; the group for the address while no member is chosen. For the error log. */
  readonly url: string;
}
