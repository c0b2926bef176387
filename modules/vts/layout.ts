/** Places of the figures in the rows of shared memory. */
import type { RowShape } from '../../core/contract/figures.js';
import { HANDSHAKE_FAILURES } from '../../core/toolkit/handshake-failure.js';

/** Statuses that are counted one by one; others are counted with their class. */
export const CODES: readonly number[] = [
  100, 101, 102, 103, 200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 402, 403, 404,
  405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 444, 451, 494, 495,
  496, 497, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 520, 521, 522, 523, 524,
];
export const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE', 'other'] as const;
export const PROTOCOLS = ['HTTP/1.0', 'HTTP/1.1', 'HTTP/2.0', 'other'] as const;
export const CACHE_STATUSES = ['MISS', 'BYPASS', 'EXPIRED', 'STALE', 'UPDATING', 'REVALIDATED', 'HIT', 'SCARCE'] as const;
export const LIMITS = ['req_delayed', 'req_rejected', 'req_dry_run', 'conn_rejected', 'conn_dry_run'] as const;

/** Codes, then statuses of each class that have no code of their own. */
const STATUS_CELLS = CODES.length + CLASSES.length;

/** Index of a status among those cells, by status. */
const STATUS_CELL = Uint8Array.from({ length: 1000 }, (_, status) => {
  const code = CODES.indexOf(status);
  return code >= 0 ? code : CODES.length + Math.min(Math.max(Math.floor(status / 100) - 1, 0), CLASSES.length - 1);
});

/** The cell of a status, from 0 on. */
export const statusCell = (status: number): number => STATUS_CELL[status] ?? STATUS_CELL[599]!;

/** Figures of requests: of a server, a location, a group. */
export const enum Http {
  Requests,
  Received,
  Sent,
  /** Responses of 500 and more. */
  Errors,
  /** Requests that ended without a response. */
  Discarded,
  /** Clients that left early. */
  Aborted,
  Upgrades,
  Retries,
  Tls,
  Methods,
  Protocols = Methods + 10,
  Cache = Protocols + 4,
  Limits = Cache + 8,
  Statuses = Limits + 5,
}
export const HTTP_SHAPE: RowShape = { counters: Http.Statuses + STATUS_CELLS, gauges: 1, distributions: 1 };

/** Figures of HTTP as a whole. */
export const enum Main {
  Subrequests,
}
export const MAIN_SHAPE: RowShape = { counters: 4, gauges: 0, distributions: 0 };

/** Figures of attempts: of an upstream, or a member. The first four are those of {@link Http}. */
export const enum AttemptFigure {
  Attempts,
  /** From members. */
  Received,
  /** To members. */
  Sent,
  /** Attempts that failed. */
  Errors,
  /** Attempts after the first one of a request. */
  Retries,
  Reused,
  TimedOut,
  /** Connections, and their time in milliseconds. */
  Connected,
  ConnectTime,
  /** Heads of responses, and their time in milliseconds. */
  Heads,
  HeadTime,
  /** Attempts that ended because the client had left. */
  Left,
  Statuses,
}
export const MEMBER_SHAPE: RowShape = { counters: AttemptFigure.Statuses + STATUS_CELLS, gauges: 0, distributions: 1 };
export const UPSTREAM_SHAPE: RowShape = { ...MEMBER_SHAPE, distributions: 3 };
/** Distributions of an upstream; a member has the first one. */
export const enum Time {
  Response,
  Connect,
  Head,
}

/** Figures of sessions: of a server of `stream`. The first four are those of {@link Http}. */
export const enum Stream {
  Sessions,
  Received,
  Sent,
  /** Sessions that ended with 500 and more. */
  Errors,
  Tls,
  Udp,
  Retries,
  ConnRejected,
  Statuses,
}
export const STREAM_SHAPE: RowShape = { counters: Stream.Statuses + STATUS_CELLS, gauges: 1, distributions: 1 };

export const TLS_PROTOCOLS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3', 'other'] as const;
export const CIPHER_FAMILIES = ['aes_gcm', 'chacha20', 'aes_cbc', 'aes_ccm', 'other'] as const;

/** Figures of a listener. Its gauge: connections at this moment. */
export const enum ListenerFigure {
  Accepted,
  /** Connections for which there was no room. */
  Rejected,
  Handshakes,
  Resumed,
  Failed,
  Protocols,
  Ciphers = Protocols + 5,
  Failures = Ciphers + 5,
}
export const LISTENER_SHAPE: RowShape = { counters: ListenerFigure.Failures + HANDSHAKE_FAILURES.length, gauges: 1, distributions: 0 };

export type RowKind =
  | 'listener'
  | 'main'
  | 'server'
  | 'location'
  | 'filter'
  | 'other'
  | 'upstream'
  | 'member'
  | 'stream_server'
  | 'stream_upstream'
  | 'stream_member';

/** Key of a row: its kind, its name, and the name of the part: a member, a key of a group. Names have no NUL. */
export const keyOf = (kind: RowKind, name: string, part = ''): string => `${kind}\0${name}\0${part}`;

/** Opposite of {@link keyOf}. */
export function partsOf(key: string): { readonly kind: RowKind; readonly name: string; readonly part: string } {
  const [kind = '', name = '', ...part] = key.split('\0');
  return { kind: kind as RowKind, name, part: part.join('\0') };
}
