import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** Digits of each of the two numbers: the text always has the same length, and so never needs room on a full disk. */
const DIGITS = 16;

/**
 * The number of the last commit, in a file beside the database. A log (`-wal`) that was removed, cut short, or damaged in its last transaction
 * looks to SQLite as if that transaction had never been made; this file says that it was.
 *
 * It is written after the commit is on disk and not synced itself, so it can be behind after a power cut, and never ahead: what it says was
 * made was made.
 */
export class CommitMark {
  readonly #file: number;

  /** @param id of the database: the mark of another one says nothing */
  constructor(
    path: string,
    private readonly id: number,
  ) {
    this.#file = openSync(path, 'a+', 0o600);
    closeSync(this.#file);
    this.#file = openSync(path, 'r+');
  }

  write(commits: number): void {
    try {
      writeSync(this.#file, `${digits(this.id)} ${digits(commits)}\n`, 0);
    } catch {
      // Then it is behind, as after a power cut.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

const digits = (number: number): string => String(number).padStart(DIGITS, '0');

/** How many commits the database of this id has had at least, as the file at `path` says; 0: it says nothing. */
export function markedCommits(path: string, id: number): number {
  const [, ofId, commits] = /^(\d{16}) (\d{16})\n$/.exec(textOf(path)) ?? [];
  return Number(ofId) === id ? Number(commits) : 0;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
