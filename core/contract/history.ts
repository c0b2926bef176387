/** What the API changed, and the way back, as modules see it. Master only. */
import type { ActionContext } from './control.js';

/** One transaction of the past. */
export interface HistoryView {
  readonly version: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Request id of the call, or `reload`. */
  readonly origin: string;
  /** Who has made the call: name of a token, subject of a certificate, user name, or `anonymous`. Empty for a reload. */
  readonly actor: string;
  /** What a call changed; undefined where it was too long to be kept, and for a reload. */
  readonly changes: readonly HistoryChange[] | undefined;
  /** What a reload changed, as lines of a configuration diff. */
  readonly diff: readonly string[];
}
export interface HistoryChange {
  /** Where the directive stands, for people: `http / upstream demo / server@7`. */
  readonly place: string;
  /** Its text before; absent: it was added. */
  readonly before?: string;
  /** Its text afterwards; absent: it was removed. */
  readonly after?: string;
}

/** What a call has written into the configuration files. */
export interface Saved {
  /** Of the configuration, which stays the same. */
  readonly version: number;
  /** The files that changed, and where they are as they were before. */
  readonly files: readonly { readonly file: string; readonly backup: string }[];
  /** Of a dry run: by file its lines that would come and go. */
  readonly diff: readonly string[];
}

export abstract class ConfigurationHistory {
  /** The difference between the configuration files and what is in force, as lines of a configuration diff. */
  abstract drift(): readonly string[];
  /**
   * Writes what the API changed into the configuration files, each directive into the block it stands in, so that there is no difference left.
   * Comments and layout of the rest stay. Members of state files stay in those.
   * @throws ApiError 409 `FileEdited` when the files are not those in force; `FileNotWritable`, `SaveImpossible`; 412 `VersionMismatch`;
   *   507 `StoreFull`
   */
  abstract save(context: ActionContext): Promise<Saved>;
  /** Transactions before a version, the newest first; the last 1,000 are kept. */
  abstract entries(options: { readonly before?: number; readonly limit: number }): readonly HistoryView[];
  /**
   * Takes back what calls of the API changed after a version. What reloads brought stays.
   * @throws ApiError 404 `VersionNotFound`; 409 `RollbackImpossible` when a change was too long to be kept, or the file has no place for it any
   *   more; and what any change of the configuration throws
   */
  abstract rollback(
    version: number,
    context: Partial<ActionContext>,
  ): Promise<{ readonly version: number; readonly diff: readonly string[] }>;
}
