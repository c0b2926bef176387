import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** Digits of each number: text of the same length needs no room on a full disk. */
const DIGITS = 16;

/**
 * The number of the last commit, in a file beside the database. A log (`-wal`) that was removed, cut short, or damaged in its last transaction
 * looks to SQLite as if that transaction had never been made; this file says that it was.
 *
 * It is written after the commit is on disk and not synced itself, so after a power cut it can lack commits, but never has one that was not made.
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
      writeSync(this.#file, textOf(this.id, commits), 0);
    } catch {
      // Then it lacks commits, as after a power cut.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Always of the same length. Ends with a checksum: a damaged mark says nothing. */
function textOf(id: number, commits: number): string {
  const numbers = `${digits(id)} ${digits(commits)}`;
  return `${numbers} ${digits(crc32(numbers))}\n`;
}

const digits = (number: number): string => String(number).padStart(DIGITS, '0');

/** How many commits the database of this id has had at least, as the file at `path` says; 0: it says nothing. */
export function markedCommits(path: string, id: number): number {
  const text = contentOf(path);
  const commits = Number(text.slice(DIGITS + 1, 2 * DIGITS + 1));
  return text === textOf(id, commits) ? commits : 0;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
