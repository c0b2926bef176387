/** Messages between a page and the shared worker that follows streams for all pages. */
import type { ErrorDetail, StreamEvent } from './event-stream.js';

/** Grows when messages change: pages of another version of srv have a worker of their own. */
export const STREAMS_NAME = 'srv-streams-1';

/** A page wants to follow a stream. */
export interface Join {
  /** Of the page, another one for each stream that it follows. */
  readonly number: number;
  readonly url: string;
  /** Empty: none. */
  readonly token: string;
  /** Last events that later pages get as well. */
  readonly kept: number;
  /** Id of the event after which the page wants those that are known; undefined: the stream has no ids. */
  readonly after: string | undefined;
}
export interface Leave {
  readonly leave: number;
}
/** `bye`: the page goes, with all that it follows. */
export type ToWorker = Join | Leave | 'bye';

export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly details: readonly ErrorDetail[];
}
/** The stream is open; events; or its end, with the reason. */
export type ToPage = { readonly number: number } & (
  | { readonly isOpen: true }
  | { readonly events: readonly StreamEvent[] }
  | { readonly end: Failure | undefined }
);
