import type { LogLevel } from '../../core/contract/log.js';

/** A line of the access log, in the form in which clients of the API get it. Absent fields are unknown, or do not apply. */
export interface AccessEntry {
  readonly kind: 'access';
  /** ISO 8601, when the request was over. */
  readonly time: string;
  /** `server_name` of the server. */
  readonly server: string;
  readonly client: string;
  readonly method: string;
  /** The target as the client sent it. */
  readonly uri: string;
  readonly protocol: string;
  readonly host: string;
  readonly status: number;
  /** Bytes sent to the client. */
  readonly bytes: number;
  /** Seconds from the first byte of the request to the end of the response. */
  readonly duration: number;
  /** Members that were tried, their statuses and times as `$upstream_addr` and its company have them. */
  readonly upstream?: string;
  readonly upstream_status?: string;
  readonly upstream_time?: string;
  readonly cache?: string;
  readonly user_agent?: string;
  readonly request_id: string;
  readonly connection: number;
  readonly worker: number;
}

/** A line of the error log. */
export interface ErrorEntry {
  readonly kind: 'error';
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly server?: string | undefined;
  readonly client?: string | undefined;
  readonly request?: string | undefined;
  readonly upstream?: string | undefined;
  readonly host?: string | undefined;
  readonly request_id?: string | undefined;
  readonly connection?: number | undefined;
  /** -1: the main thread. */
  readonly worker: number;
}

/** Lines are missing here. */
export interface LostEntry {
  readonly kind: 'lost';
  readonly time: string;
  readonly count: number;
  readonly reason: string;
}

export type LogLine = AccessEntry | ErrorEntry;
export type FedEntry = LogLine | LostEntry;

export function lostEntry(count: number, reason: string): LostEntry {
  return { kind: 'lost', time: new Date().toISOString(), count, reason };
}
