/** Events of a server for its observers: `GET /v1/events` and the topics `srv/events/…` of the bus. */

/** One event in the form in which it leaves the server. */
export interface ServerEvent {
  /** Names the event for `Last-Event-ID`. Opaque. */
  readonly id: string;
  readonly type: string;
  /** The event as JSON: `{"id","type","time","node","data"}`. */
  readonly text: string;
}

/** Events after one that a reader has, in their order. */
export interface EventPage {
  readonly events: readonly ServerEvent[];
  /** Id of the newest event there is. */
  readonly last: string;
  /** Events are missing between the one that the reader has and the first of the page; why, as a sentence. */
  readonly gap?: string;
}

/** Publishes events. In the master and in workers. */
export abstract class Events {
  /**
   * Publishes that something has changed. For changes of state: an event for each request would push all others out of memory.
   * Of more than 4,000 at once, or 1,000 a second, the rest is left out, and `events.dropped` says how many.
   * @param type such as `acme.pool.empty`: words in lower case, joined with dots; the first is the name of the module or of a kind of thing
   * @param data JSON, up to 16 KiB; no secrets
   * @param subject what it is about, as `['shop', '10.0.0.1:80']`: the bus keeps the last event of each type and subject
   * @throws TypeError for an invalid type, and for data that JSON cannot carry; RangeError for data that is too long
   */
  abstract publish(type: string, data: Readonly<Record<string, unknown>>, subject?: readonly string[]): void;
  /** The subject of an event is gone: the bus does not keep the last event of this type and subject any more. */
  abstract forget(type: string, subject: readonly string[]): void;
}

/** The events of this server, at least the last 1,024 of them. Master only. */
export abstract class EventLog extends Events {
  /**
   * @param after id of the last event that the reader has; undefined: all that are kept
   * @param limit most events of the page
   */
  abstract read(after: string | undefined, limit: number): EventPage;
  /** Resolves when there is an event after the one of this id, at the latest after `ms` milliseconds. */
  abstract wait(after: string, ms: number): Promise<void>;
}
