/** Changes of the API and rollback, for modules. Master only. */
import type { ActionContext } from './control.js';

/** One transaction of the past. */
export interface HistoryView {
  readonly version: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Name of the node that made it (`node_name`). */
  readonly node: string;
  /** Request id of the call, or `reload`. */
  readonly origin: string;
  /** The caller: name of a token, subject of a certificate, user name, or `anonymous`. Empty for a reload. */
  readonly actor: string;
  /** Why, in the words of the caller (`Change-Message`); empty: nothing was said. */
  readonly message: string;
  /** Changes of a call; undefined if they were too long to be kept, and for a reload. */
  readonly changes: readonly HistoryChange[] | undefined;
  /** Changes of a reload, as lines of a configuration diff. */
  readonly diff: readonly string[];
}
export interface HistoryChange {
  /** Place of the directive, for people: `http / upstream demo / server@7`. */
  readonly place: string;
  /** Its text before; absent: it was added. */
  readonly before?: string;
  /** Its text afterwards; absent: it was removed. */
  readonly after?: string;
}

/** Files that a call has written. */
export interface Saved {
  /** Of the configuration, which stays the same. */
  readonly version: number;
  /** The files that changed, and where they are as they were before. */
  readonly files: readonly { readonly file: string; readonly backup: string }[];
  /** Of a dry run: by file its lines that would come and go. */
  readonly diff: readonly string[];
}

export abstract class ConfigurationHistory {
  /** The difference between the configuration files and the current configuration, as lines of a configuration diff. */
  abstract drift(): readonly string[];
  /**
   * Writes what the API changed into the configuration files, each directive into the block it is in, so that there is no difference left.
   * Comments and layout of the rest stay. Members of state files stay in those.
   * @throws ApiError 409 `FileEdited` when the files differ from the current configuration; `FileNotWritable`, `SaveImpossible`; 412
   * `VersionMismatch`;
   * 507 `StoreFull`
   */
  abstract save(context: ActionContext): Promise<Saved>;
  /** Transactions before a version, the newest first; the last 1,000 are kept. */
  abstract entries(options: { readonly before?: number; readonly limit: number }): readonly HistoryView[];
  /**
   * Reverts the changes of the API after a version. Changes of reloads stay.
   * @throws ApiError 404 `VersionNotFound`; 409 `RollbackImpossible` when a change was too long to be kept, or the file has no place for it any
   *   more; and what any change of the configuration throws
   */
  abstract rollback(
    version: number,
    context: Partial<ActionContext>,
  ): Promise<{ readonly version: number; readonly diff: readonly string[] }>;
}
