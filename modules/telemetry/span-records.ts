/**
 * Spans on their way from a worker to the thread that exports them, which makes attributes of them. Texts are strings of bytes (latin1), times
 * milliseconds since 1970 with fractions.
 */

/** Attribute that `telemetry_attribute` adds. */
export type ExtraAttribute = readonly [name: string, value: string];

interface SpanHead {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is the root of its trace. */
  readonly parentId: string;
  /** The parent is a span of the client. */
  readonly hasRemoteParent: boolean;
  /** Value of tracestate. */
  readonly state: string;
  readonly start: number;
  readonly end: number;
}

/** A request of a client, or a subrequest. */
export interface RequestRecord extends SpanHead {
  readonly kind: 'request' | 'subrequest';
  /** Empty: by method and location. */
  readonly name: string;
  readonly method: string;
  readonly isSecure: boolean;
  /** As the client sent it; of a subrequest, path and arguments. */
  readonly target: string;
  readonly host: string;
  readonly serverPort: number;
  /** `HTTP/1.1`. */
  readonly protocol: string;
  readonly client: string;
  readonly peer: string;
  readonly peerPort: number;
  readonly userAgent: string;
  readonly route: string;
  readonly status: number;
  readonly bodySent: number;
  /** `HIT`; empty: no cache was asked. */
  readonly cacheStatus: string;
  readonly extra: readonly ExtraAttribute[];
}

/** An attempt at a member. */
export interface AttemptRecord extends SpanHead {
  readonly kind: 'attempt';
  readonly method: string;
  readonly url: string;
  readonly address: string;
  readonly upstream: string;
  readonly number: number;
  readonly isReused: boolean;
  readonly status: number;
  readonly failure: string;
  readonly queueTime: number;
  readonly connectTime: number;
  readonly headerTime: number;
}

/** The look into the cache, up to the head of a stored response or the first attempt. */
export interface CacheRecord extends SpanHead {
  readonly kind: 'cache';
  readonly cacheStatus: string;
}

export type SpanRecord = RequestRecord | AttemptRecord | CacheRecord;
