/** Messages between the main thread and the thread that exports. */

/** Where spans are sent, and how. Times in milliseconds. */
export interface ExportSettings {
  /** `http://collector:4318/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the certificates that a collector with https is verified with; undefined: those of Node.js. */
  readonly certificates: string | undefined;
  readonly gzip: boolean;
  readonly interval: number;
  readonly timeout: number;
  readonly batchSize: number;
  /** Spans that wait at most. */
  readonly limit: number;
  readonly resource: Readonly<Record<string, string | number>>;
  /** Version of srv. */
  readonly version: string;
}

/** Memory of all threads: how many spans wait in the thread that exports. */
export const WAITING = 0;
/** Bytes of that memory. */
export const SHARED_BYTES = 4;

export type ToExporter =
  | { readonly kind: 'configure'; readonly settings: ExportSettings; readonly memory: SharedArrayBuffer }
  /** @param spans JSON array of span records */
  | { readonly kind: 'spans'; readonly count: number; readonly spans: string }
  /** The reply to `ask`. */
  | { readonly kind: 'permission'; readonly id: number; readonly rejection: string | undefined }
  /** Sends what waits, once, and ends. */
  | { readonly kind: 'finish' };

/** Why spans were dropped: too many wait; the collector could not be reached or failed; it has rejected them. */
export const DROP_REASONS = ['queue_full', 'failed', 'rejected'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export type FromExporter =
  | { readonly kind: 'exported'; readonly count: number }
  | { readonly kind: 'dropped'; readonly reason: DropReason; readonly count: number }
  /** A call of the collector has failed, for the log and the API. */
  | { readonly kind: 'failure'; readonly text: string }
  /** May a connection to this address be made? */
  | { readonly kind: 'ask'; readonly id: number; readonly host: string; readonly port: number }
  | { readonly kind: 'finished' };
