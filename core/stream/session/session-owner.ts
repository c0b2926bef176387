/** Works on a session after a handler has returned DONE, and ends it. */
export interface SessionOwner {
  /** The session ends: releases its resources. Data received for the other side is still sent. */
  stop(): void;
  /** Another part takes the session over. Absent: it remains the owner. */
  leave?(): void;
}

/** The client's side ends the session: when a text is out, or a connection that was passed on is closed. */
export const CLIENT_SIDE: SessionOwner = { stop: () => undefined };
