import type { HttpRequest } from './http.js';

/**
 * Events of an attempt. `begin`: a member was chosen. `connected`: it has a connection, new or kept; once more where a kept one was
 * closed by the member, and the request is sent to it again. `head`: the head of its response has arrived; in a tunnel of CONNECT and in a
 * session of `stream`, which have no head, its first bytes. `end`: the attempt is over, and so is a tunnel or a session that it has led to.
 */
export type AttemptEvent = 'begin' | 'connected' | 'head' | 'end';

/** One attempt at a member for a request or a session. It is another object for each attempt and the same for all of its events. Times in milliseconds, -1: not yet. */
export interface MemberAttempt {
  /** Among those of the request or session, from 1 on. */
  readonly number: number;
  /** When it began, epoch milliseconds. */
  readonly startTime: number;
  /** Name of the upstream; of a tunnel to a server that the client has named, the address. */
  readonly upstream: string;
  /** Of the member: `10.0.0.1:80`, `unix:/path`. */
  readonly address: string;
  /** URL of the request to the member: `http://10.0.0.1:80/path?query`. Empty: nothing was sent yet, or it is a tunnel or a session. */
  readonly url: string;
  /** The connection was kept from an earlier request. False until `connected`. */
  readonly isReused: boolean;
  /**
   * Of the response; of an attempt that failed, that of its failure: 502, 504; of a connected session 200. 0: there is none yet; at `end` none has
   * come because the request was over before: its client has left, or something else has responded.
   */
  readonly status: number;
  /** Why it failed, in the words of the error log; empty: it did not, or not yet. A client that leaves makes no attempt fail. */
  readonly failure: string;
  /** Bytes. */
  readonly sent: number;
  readonly received: number;
  /** In the queue of the upstream. */
  readonly queueTime: number;
  readonly connectTime: number;
  readonly headerTime: number;
  readonly responseTime: number;
}

/** Looks at attempts. At `begin` it may set fields of the request to the member, as a trace has one for each attempt. Exceptions are logged, and do not affect the request or session. */
export type AttemptHandler<R = HttpRequest> = (subject: R, attempt: MemberAttempt, event: AttemptEvent) => void;
