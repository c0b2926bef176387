/** Facts about one attempt at a member. Times in milliseconds, -1: it did not get that far. */
export interface SessionAttemptFacts {
  readonly address: string;
  readonly connectTime: number;
  readonly firstByteTime: number;
  readonly sessionTime: number;
  readonly sent: number;
  readonly received: number;
}

/** The attempts of a session, the last one is that in use. */
export interface SessionTrace {
  readonly attempts: readonly SessionAttemptFacts[];
}
