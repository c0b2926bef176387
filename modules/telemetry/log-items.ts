/** Log records on their way from a thread of the server to the thread that exports them. Texts are strings of bytes (latin1). */
import type { LogRecord } from '../../core/contract/log.js';
import type { RequestRecord } from './span-records.js';

/** A line of the error log. */
export interface ErrorItem extends LogRecord {
  readonly kind: 'error';
  /** Number of the worker; -1: the main thread. */
  readonly worker: number;
}

/** A request that is over. Ids are empty where it has no trace. */
export interface AccessItem extends Omit<RequestRecord, 'kind'> {
  readonly kind: 'access';
  readonly requestId: string;
}

export type LogItem = ErrorItem | AccessItem;
