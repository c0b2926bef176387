import type { MemberAttempt } from '../../core/contract/member-attempt.js';

/** Moments of a request, from which its phases follow: epoch milliseconds. */
export interface Course {
  readonly startTime: number;
  /** 0: there was no head. */
  readonly headTime: number;
  readonly attempts: readonly MemberAttempt[];
}

/** Time of a request by its phases, in milliseconds. */
export interface Phases {
  /** Before the first attempt at a member, or before the response: reading the request body, access rules, delays, modules. */
  readonly before: number;
  /** In the queue of the upstream, over all attempts; and so on. */
  readonly queue: number;
  readonly connect: number;
  /** From the connection to the head of the member's response. */
  readonly first_byte: number;
  /** The rest of the member's response. */
  readonly body: number;
  /** After the member's response was complete: the client still reads. */
  readonly client: number;
}

/** One attempt in the slow log. */
export interface SlowAttempt extends Pick<Phases, 'queue' | 'connect' | 'first_byte' | 'body'> {
  readonly upstream: string;
  readonly address: string;
  readonly status: number;
  readonly reused: boolean;
  /** Absent: it has not failed. */
  readonly failure?: string;
}

export function attemptView(attempt: MemberAttempt): SlowAttempt {
  const { upstream, address, status, isReused: reused, failure } = attempt;
  const [queue, connect] = [positive(attempt.queueTime), positive(attempt.connectTime)];
  const response = positive(attempt.responseTime);
  // Without a connection, and without a head, all of the time went there.
  const isConnected = attempt.connectTime >= 0;
  const head = attempt.headerTime >= 0 ? attempt.headerTime : response;
  return {
    upstream,
    address,
    status,
    reused,
    queue,
    connect: isConnected ? connect : response,
    first_byte: isConnected ? positive(head - connect) : 0,
    body: positive(response - head),
    ...(failure !== '' && { failure }),
  };
}

/** @param end of the request, epoch milliseconds */
export function phasesOf({ startTime: start, headTime: head, attempts }: Course, end: number): Phases {
  const views = attempts.map(attemptView);
  const sum = (name: 'queue' | 'connect' | 'first_byte' | 'body'): number => views.reduce((all, view) => all + view[name], 0);
  const [first, last] = [attempts[0], attempts.at(-1)];
  const made = first !== undefined ? first.startTime - positive(first.queueTime) : head > 0 ? head : end;
  const over = last === undefined ? made : last.responseTime < 0 ? end : last.startTime + last.responseTime;
  return {
    before: positive(made - start),
    queue: sum('queue'),
    connect: sum('connect'),
    first_byte: sum('first_byte'),
    body: sum('body'),
    client: positive(end - over),
  };
}

function positive(ms: number): number {
  return Math.max(ms, 0);
}
