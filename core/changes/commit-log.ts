/**
 * The order of changes. One log orders one sequence (the configuration, the key-value pairs), of one node or of several: a change is decided
 * when it is in the log, and every node applies the entries in their order.
 *
 *     prepare in every worker → append to the log → keep in the store of this node → commit in every worker
 */
import { ApiError } from '../contract/control.js';

/**
 * A place in the order. Numbers grow by one with each entry. The epoch is another one when a log has lost its entries and begins again: the same
 * number of two epochs may be two changes.
 */
export interface LogVersion {
  readonly epoch: number;
  readonly number: number;
  /** Random number of the last entry, in a log that may lose entries and get others of the same numbers. */
  readonly mark?: number;
}

/** A change on its way into the log. */
export interface NewEntry<Content> {
  /** Name of the node that appends it. */
  readonly node: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Everything that other nodes need to make the same change, as JSON. Called by a shared log only. */
  readonly content: () => Content;
}

export interface LogEntry<Content> {
  readonly number: number;
  readonly node: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** See {@link LogVersion.mark}. */
  readonly mark?: number;
  readonly content: Content;
}

/** Facts about an entry of this node in a log where it need not follow the base. */
export interface Appended<Content> {
  /** Entries between the base and this one, to be applied before it. */
  readonly before: readonly LogEntry<Content>[];
  readonly mark: number;
}

/** Result of all entries up to a version. */
export interface Snapshot<State> {
  readonly version: LogVersion;
  /** JSON. */
  readonly state: State;
}

/** A node, as its log sees it. */
export interface LogNode<State> {
  /** Called when another node may have appended entries, and when the log is out of reach or back. The node reads by itself. */
  appended(): void;
  /** For a log that is about to forget entries. Undefined: this node has not applied what it would have to. */
  snapshot(): Snapshot<State> | undefined;
}

export interface CommitLog<Content, State> {
  /** True if other nodes may append. A start and a reload are versions of a node alone; of several they are none. */
  readonly isShared: boolean;
  /**
   * Appends entries, all or none.
   * @param base the version that this node has applied: the entries follow it
   * @param keep writes them into the store of this node under their numbers, in one transaction. Called at most once, when the order is decided; the log of
   * one node is that store, and its transaction decides. Its exceptions are thrown on
   * @returns their numbers
   * @throws LogConflict when other entries follow the base; another ApiError when the log cannot be written. An entry is in the log only if `keep` was
   * called: an implementation that lost its connection asks for the entry before it rejects
   */
  append(
    entries: readonly NewEntry<Content>[],
    base: LogVersion,
    keep: (numbers: readonly number[], appended?: Appended<Content>) => void,
  ): Promise<readonly number[]>;
  /**
   * Entries after a version, in their order: at least the first one, if there is any.
   * @returns undefined: some are not there any more, or the version is of another epoch; a snapshot is needed
   * @throws ApiError when the log cannot be read
   */
  entries(after: LogVersion): Promise<readonly LogEntry<Content>[] | undefined>;
  /** The next {@link entries} is to have all there is, also what was not announced yet. */
  refresh(): void;
  /** The last state before the oldest entry, or a later one. Undefined: there is none. @throws ApiError when the log cannot be read */
  snapshot(): Promise<Snapshot<State> | undefined>;
  /** Begins to notify a node. @returns ends it */
  follow(node: LogNode<State>): () => void;
}

/** Other nodes have appended entries that this one has not applied yet. */
export class LogConflict extends ApiError {
  constructor() {
    super(409, 'ChangedMeanwhile', 'other nodes change the same configuration all the time; nothing was changed');
  }
}

/** The log cannot be read or written. */
export class LogUnavailable extends ApiError {
  /** @param reason for the status of the node, without what it means for a change */
  constructor(
    text: string,
    readonly reason = text,
  ) {
    super(503, 'StoreUnavailable', text);
  }
}

/** The log is out of reach. A log of several nodes that lets nodes write alone meanwhile does so after this error. */
export class LogAway extends LogUnavailable {}

/** The change is in the log, but this node could not write it into its store: it follows when it can. */
export class EntryNotKept extends ApiError {
  constructor(reason: string) {
    super(503, 'DataPlaneUnavailable', `the change is active on the other nodes, and on this one as soon as it can be stored: ${reason}`);
  }
}
