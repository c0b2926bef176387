import type { Appended, CommitLog, LogEntry, LogNode, LogVersion, NewEntry, Snapshot } from './commit-log.js';

/** A log that the configuration chooses, before anything follows it. */
export class ChosenLog<Content, State> implements CommitLog<Content, State> {
  #followed = false;

  constructor(private log: CommitLog<Content, State>) {}

  /** Nothing can be chosen any more. */
  get isFollowed(): boolean {
    return this.#followed;
  }

  choose(log: CommitLog<Content, State>): void {
    this.log = log;
  }

  get isShared(): boolean {
    return this.log.isShared;
  }

  append(
    entries: readonly NewEntry<Content>[],
    base: LogVersion,
    keep: (numbers: readonly number[], appended?: Appended<Content>) => void,
  ): Promise<readonly number[]> {
    return this.log.append(entries, base, keep);
  }

  entries(after: LogVersion): Promise<readonly LogEntry<Content>[] | undefined> {
    return this.log.entries(after);
  }

  refresh(): void {
    this.log.refresh();
  }

  snapshot(): Promise<Snapshot<State> | undefined> {
    return this.log.snapshot();
  }

  follow(node: LogNode<State>): () => void {
    this.#followed = true;
    return this.log.follow(node);
  }
}
