/** Messages between the main thread and the thread that exports. */
import type { LogLevel } from '../../core/contract/log.js';
import type { PagedFamily } from '../../core/toolkit/figures/page.js';

/** Kinds of records, each with a queue, a path below the endpoint, and counters of its own. */
export const SIGNALS = ['traces', 'logs', 'metrics'] as const;
export type Signal = (typeof SIGNALS)[number];

/** Where records are sent, and how. Times in milliseconds. */
export interface ExportSettings {
  /** `http://collector:4318`, without a slash at its end. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the certificates that a collector with https is verified with; undefined: those of Node.js. */
  readonly certificates: string | undefined;
  readonly gzip: boolean;
  readonly interval: number;
  readonly timeout: number;
  readonly batchSize: number;
  /** Records of a signal that wait at most. */
  readonly limit: number;
  /** Lowest level of the lines of the error log that are sent; undefined: none are. */
  readonly logLevel: LogLevel | undefined;
  /** Between two exports of all metrics; undefined: there are none. */
  readonly metricsInterval: number | undefined;
  readonly resource: Readonly<Record<string, string | number>>;
  /** Version of srv. */
  readonly version: string;
}

export const urlOf = ({ endpoint }: Pick<ExportSettings, 'endpoint'>, signal: Signal): string => `${endpoint}/v1/${signal}`;

/** Bytes of the memory of all threads: how many records of each signal wait in the thread that exports, in the order of {@link SIGNALS}. */
export const SHARED_BYTES = 4 * SIGNALS.length;

export type ToExporter =
  | { readonly kind: 'configure'; readonly settings: ExportSettings; readonly memory: SharedArrayBuffer }
  /** @param records JSON array of spans or log records */
  | { readonly kind: 'records'; readonly signal: 'traces' | 'logs'; readonly records: string }
  /** @param at epoch milliseconds of the figures, and since when those count that do not say it */
  | { readonly kind: 'figures'; readonly families: readonly PagedFamily[]; readonly at: number; readonly since: number }
  /** The reply to `ask`. */
  | { readonly kind: 'permission'; readonly id: number; readonly rejection: string | undefined }
  /** Sends what waits, once, and ends. */
  | { readonly kind: 'finish' };

/** Why records were dropped: too many wait; the collector could not be reached or failed; it has rejected them. */
export const DROP_REASONS = ['queue_full', 'failed', 'rejected'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** Results of the records of a signal. */
export type SignalResult =
  | { readonly kind: 'exported'; readonly count: number }
  | { readonly kind: 'dropped'; readonly reason: DropReason; readonly count: number }
  /** A call of the collector has failed, for the log and the API. */
  | { readonly kind: 'failure'; readonly text: string };

export type FromExporter =
  | (SignalResult & { readonly signal: Signal })
  /** May a connection to this address be made? */
  | { readonly kind: 'ask'; readonly id: number; readonly host: string; readonly port: number }
  | { readonly kind: 'finished' };
