import type { CommitLog, LogVersion, NewEntry } from './commit-log.js';

/**
 * The log of a node that is alone: its store in SQLite. The transaction that keeps a change decides on it as well, so there is one write to the disk,
 * and never an entry that the node lacks.
 */
export class StoreLog implements CommitLog<never, never> {
  readonly isShared = false;

  append(
    entries: readonly NewEntry<never>[],
    { number }: LogVersion,
    keep: (numbers: readonly number[]) => void,
  ): Promise<readonly number[]> {
    const numbers = entries.map((_, at) => number + at + 1);
    keep(numbers);
    return Promise.resolve(numbers);
  }

  entries(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  refresh(): void {
    // There is no other node.
  }

  snapshot(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  follow(): () => void {
    return () => undefined;
  }
}
