import type { Session } from './session.js';

/** Moves a session through its phases. */
export interface SessionFlow {
  /** Runs handlers from the step of the session on. */
  advance(session: Session): void;
  /** The time limit of the phase that waits is over. */
  timedOut(session: Session): void;
  /** Runs the log phase, if its connection was not passed on, and the steps at its end. */
  finish(session: Session): void;
}
