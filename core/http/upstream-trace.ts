/** One attempt at a member, for `$upstream_*` and logs. Times in milliseconds, -1: it did not come to that. */
export interface Attempt {
  readonly address: string;
  status: number;
  connectTime: number;
  headerTime: number;
  responseTime: number;
  sent: number;
  received: number;
}

/** What happened between one request and its upstream. */
export interface UpstreamTrace {
  readonly attempts: readonly Attempt[];
}
