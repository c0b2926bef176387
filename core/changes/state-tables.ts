import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CheckedTable } from './checked-table.js';

/**
 * One line of a block whose lines a state file holds (a member of an upstream with `state`). The store is what counts, the file is written
 * from it. Versions are those of the configuration; the version of a state file is that of the configuration it was written from.
 */
export interface StateLine {
  /** Address of the block (see address.ts). */
  readonly block: string;
  /** The lasting key of the directive. */
  readonly key: number;
  /** The directive as text; undefined: it was removed. */
  readonly text: string | undefined;
  /** Its text in the file, as far as known; undefined: none. */
  readonly written: string | undefined;
  /** The first version of the file that says so. */
  readonly since: number;
  /** Its previous text in the file. */
  readonly old: FormerText | undefined;
  /** Its text in the version of the file that was being written last; undefined: the same as before, or as now. */
  readonly next: NextText | undefined;
  /** Order in the block. */
  readonly place: number;
  /** The version in which the API added it; 0: it came with the file. */
  readonly born: number;
  /** The version in which the API changed it last; 0: never. */
  readonly changed: number;
}

export interface FormerText {
  readonly text: string | undefined;
  /** The first version of the file that said so. */
  readonly since: number;
}

export interface NextText {
  readonly version: number;
  readonly text: string | undefined;
}

interface StoredStateLine extends Omit<StateLine, 'text' | 'written' | 'old' | 'next'> {
  readonly text: string | null;
  readonly written: string | null;
  readonly old_text: string | null;
  readonly old_since: number | null;
  readonly next_text: string | null;
  readonly next_version: number | null;
}

const COLUMNS = 'block, key, text, written, since, old_text, old_since, next_text, next_version, place, born, changed';

/** Removed lines that are remembered in each block, for a file that was edited from an older version. */
const REMEMBERED = 1000;

export class StateLineTable {
  readonly table: CheckedTable;
  readonly #all: StatementSync;
  readonly #get: StatementSync;
  readonly #pending: StatementSync;
  readonly #announced: StatementSync;
  readonly #delete: StatementSync;
  readonly #trim: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'state_lines', COLUMNS.split(', '));
    this.#all = database.prepare(`SELECT ${COLUMNS} FROM state_lines ORDER BY block, place`);
    this.#get = database.prepare(`SELECT ${COLUMNS} FROM state_lines WHERE block = ? AND key = ?`);
    this.#pending = database.prepare(`SELECT ${COLUMNS} FROM state_lines WHERE block = ? AND text IS NOT written`);
    this.#announced = database.prepare(`SELECT ${COLUMNS} FROM state_lines WHERE block = ? AND next_version = ?`);
    this.#delete = database.prepare('DELETE FROM state_lines WHERE block = ? AND key = ?');
    this.#trim = database.prepare(
      `DELETE FROM state_lines WHERE block = ? AND text IS NULL AND written IS NULL AND key NOT IN (
         SELECT key FROM state_lines WHERE block = ? AND text IS NULL ORDER BY changed DESC LIMIT ${REMEMBERED})`,
    );
  }

  /** All lines, block after block, in their order. */
  all(): StateLine[] {
    return (this.#all.all() as unknown as StoredStateLine[]).map(stateLine);
  }

  get(block: string, key: number): StateLine | undefined {
    const found = this.#get.get(block, key) as unknown as StoredStateLine | undefined;
    return found && stateLine(found);
  }

  /** Lines of a block that its file did not have as they are, when it was written last. */
  pending(block: string): StateLine[] {
    return (this.#pending.all(block) as unknown as StoredStateLine[]).map(stateLine);
  }

  /** Lines of a block in which this version of its file differs from the one before. */
  announced(block: string, version: number): StateLine[] {
    return (this.#announced.all(block, version) as unknown as StoredStateLine[]).map(stateLine);
  }

  put({ block, key, text, written, since, old, next, place, born, changed }: StateLine): void {
    const former = [old?.text ?? null, old?.since ?? null];
    const following = [next?.text ?? null, next?.version ?? null];
    this.table.put(block, key, text ?? null, written ?? null, since, ...former, ...following, place, born, changed);
  }

  delete(block: string, key: number): void {
    this.#delete.run(block, key);
  }

  /** Forgets lines that were removed long ago. */
  trim(block: string): void {
    this.#trim.run(block, block);
  }
}

function stateLine(stored: StoredStateLine): StateLine {
  const { text, written, old_text: oldText, old_since: oldSince, next_text: nextText, next_version: nextVersion, ...rest } = stored;
  return {
    ...rest,
    text: text ?? undefined,
    written: written ?? undefined,
    old: oldSince === null ? undefined : { text: oldText ?? undefined, since: oldSince },
    next: nextVersion === null ? undefined : { version: nextVersion, text: nextText ?? undefined },
  };
}

/** Version and digest of a state file. */
export interface FileVersion {
  readonly version: number;
  /** Of its content. */
  readonly digest: string;
}

/** A state file as it was read or written last, and as it is being written. */
export interface StateFileRow {
  readonly block: string;
  readonly written: FileVersion;
  /** It may have its name already, or never get it: the process was killed then. */
  readonly next: FileVersion | undefined;
}

interface StoredStateFile {
  readonly block: string;
  readonly version: number;
  readonly digest: string;
  readonly next_version: number | null;
  readonly next_digest: string | null;
}

export class StateFileTable {
  readonly table: CheckedTable;
  readonly #get: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'state_files', ['block', 'version', 'digest', 'next_version', 'next_digest']);
    this.#get = database.prepare('SELECT block, version, digest, next_version, next_digest FROM state_files WHERE block = ?');
  }

  get(block: string): StateFileRow | undefined {
    const found = this.#get.get(block) as unknown as StoredStateFile | undefined;
    if (found === undefined) return undefined;
    const { version, digest, next_version: nextVersion, next_digest: nextDigest } = found;
    const next = nextVersion === null || nextDigest === null ? undefined : { version: nextVersion, digest: nextDigest };
    return { block, written: { version, digest }, next };
  }

  put({ block, written, next }: StateFileRow): void {
    this.table.put(block, written.version, written.digest, next?.version ?? null, next?.digest ?? null);
  }
}
