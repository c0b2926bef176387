import type { HistoryView } from '../contract/history.js';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CheckedTable } from './checked-table.js';
import { SiblingIndex } from './sibling-index.js';

/** The latest state of one address that the API changed. Together the rows are the difference between file and effective configuration. */
export interface OverlayRow {
  /** Where, independent of process and file position (see address.ts). */
  readonly address: string;
  readonly op: 'add' | 'replace' | 'remove';
  /** Address of the block it is in. */
  readonly parent: string;
  /** The directive as text; for `remove` what was removed. */
  readonly text: string;
  /** Text of the file in its place, as far as known: for showing the difference. */
  readonly was: string | undefined;
  /** Its lasting key, if directives of its kind have one. */
  readonly key: number | undefined;
  /** Order of the changes. */
  readonly seq: number;
  /** Address of the directive in front of which an addition was put; undefined: the end of the block. */
  readonly sibling?: string | undefined;
  /** Address of the directive that precedes such an addition, for a file that loses the sibling; undefined: it was the first one. */
  readonly previous?: string | undefined;
}

/** A row as SQLite has it: no undefined. */
type StoredOverlayRow = Omit<OverlayRow, 'key' | 'was' | 'sibling' | 'previous'> & {
  readonly key: number | null;
  readonly was: string | null;
  readonly sibling: string | null;
  readonly previous: string | null;
};

const OVERLAY_COLUMNS = ['address', 'op', 'parent', 'text', 'was', 'key', 'seq', 'sibling', 'previous'];

export class OverlayTable {
  readonly table: CheckedTable;
  readonly #all: StatementSync;
  readonly #get: StatementSync;
  #siblings: SiblingIndex | undefined = undefined;
  /** Addresses of all rows: most addresses that are looked up have none. */
  #addresses: Set<string> | undefined = undefined;
  readonly #delete: StatementSync;
  readonly #below: StatementSync;
  readonly #deleteBelow: StatementSync;
  readonly #lastSeq: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'overlay', OVERLAY_COLUMNS);
    this.#all = database.prepare(`SELECT ${OVERLAY_COLUMNS.join(', ')} FROM overlay ORDER BY seq`);
    this.#lastSeq = database.prepare('SELECT max(seq) AS seq FROM overlay');
    this.#get = database.prepare(`SELECT ${OVERLAY_COLUMNS.join(', ')} FROM overlay WHERE address = ?`);
    this.#delete = database.prepare('DELETE FROM overlay WHERE address = ?');
    this.#below = database.prepare(`SELECT ${OVERLAY_COLUMNS.join(', ')} FROM overlay WHERE address > ? AND address < ?`);
    this.#deleteBelow = database.prepare('DELETE FROM overlay WHERE address > ? AND address < ? RETURNING address');
  }

  /** All rows, in the order of the changes. */
  all(): OverlayRow[] {
    return (this.#all.all() as unknown as StoredOverlayRow[]).map(overlayRow);
  }

  get(address: string): OverlayRow | undefined {
    this.#addresses ??= new Set(this.all().map((row) => row.address));
    if (!this.#addresses.has(address)) return undefined;
    const found = this.#get.get(address) as unknown as StoredOverlayRow | undefined;
    return found && overlayRow(found);
  }

  /** The additions that were put in front of the directive at an address, in the order of the changes. Most have none. */
  inFrontOf(address: string): OverlayRow[] {
    this.#siblings ??= this.#indexSiblings();
    const rows = [...this.#siblings.inFrontOf(address)].flatMap((other) => this.get(other) ?? []);
    return rows.sort((a, b) => a.seq - b.seq);
  }

  #indexSiblings(): SiblingIndex {
    const index = new SiblingIndex();
    for (const { address, sibling } of this.all()) index.put(address, sibling);
    return index;
  }

  put({ address, op, parent, text, was, key, seq, sibling, previous }: OverlayRow): void {
    this.#siblings?.put(address, sibling);
    this.#addresses?.add(address);
    this.table.put(address, op, parent, text, was ?? null, key ?? null, seq, sibling ?? null, previous ?? null);
  }

  delete(address: string): void {
    this.#delete.run(address);
    this.#forget(address);
  }

  /** Written rows are missing: a transaction has failed. */
  reread(): void {
    this.#siblings = this.#addresses = undefined;
  }

  /** The place of the latest change in the order of all; 0: there is none. */
  lastSeq(): number {
    return Number(this.#lastSeq.get()?.['seq'] ?? 0);
  }

  /** The rows of addresses between two. */
  between(from: string, to: string): OverlayRow[] {
    return (this.#below.all(from, to) as unknown as readonly StoredOverlayRow[]).map(overlayRow);
  }

  deleteBetween(from: string, to: string): void {
    const deleted = this.#deleteBelow.all(from, to) as unknown as readonly Pick<OverlayRow, 'address'>[];
    for (const { address } of deleted) this.#forget(address);
  }

  #forget(address: string): void {
    this.#addresses?.delete(address);
    this.#siblings?.delete(address);
  }
}

const overlayRow = (stored: StoredOverlayRow): OverlayRow => ({
  ...stored,
  key: stored.key ?? undefined,
  was: stored.was ?? undefined,
  sibling: stored.sibling ?? undefined,
  previous: stored.previous ?? undefined,
});

/** One transaction of the past, as it is stored. */
export interface HistoryEntry extends Omit<HistoryView, 'changes' | 'diff'> {
  /** JSON: `[{ address, op, before?, after? }]`, or `null` when it was too long to keep. */
  readonly changes: string;
}

/** Transactions kept, and the longest one that is kept whole (characters). */
export const HISTORY_LENGTH = 1000;
const HISTORY_LIMIT = 512 * 1024;

const HISTORY_COLUMNS = ['version', 'at', 'node', 'origin', 'actor', 'message', 'changes'];

/** A bounded record of the last transactions, for looking back and rolling back. */
export class HistoryTable {
  readonly table: CheckedTable;
  readonly #trim: StatementSync;
  readonly #before: StatementSync;
  readonly #after: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'history', HISTORY_COLUMNS);
    this.#trim = database.prepare('DELETE FROM history WHERE version <= ?');
    const select = `SELECT ${HISTORY_COLUMNS.join(', ')} FROM history`;
    this.#before = database.prepare(`${select} WHERE version < ? ORDER BY version DESC LIMIT ?`);
    this.#after = database.prepare(`${select} WHERE version > ? ORDER BY version DESC`);
  }

  add(entry: HistoryEntry): void {
    const changes = entry.changes.length > HISTORY_LIMIT ? 'null' : entry.changes;
    this.table.put(entry.version, entry.at, entry.node, entry.origin, entry.actor, entry.message, changes);
    this.#trim.run(entry.version - HISTORY_LENGTH);
  }

  /** The last ones, newest first. */
  last(count: number): HistoryEntry[] {
    return this.before(Number.MAX_SAFE_INTEGER, count);
  }

  /** Entries before a version, newest first. */
  before(version: number, count: number): HistoryEntry[] {
    return this.#before.all(version, count) as unknown as HistoryEntry[];
  }

  /** All after a version, newest first. */
  after(version: number): HistoryEntry[] {
    return this.#after.all(version) as unknown as HistoryEntry[];
  }
}

export interface KeyRow {
  readonly identity: string;
  readonly occurrence: number;
  readonly key: number;
}

/** Lasting numbers of directives that a file holds, by their block and their identity in it. */
export class KeyTable {
  readonly table: CheckedTable;
  readonly nextTable: CheckedTable;
  readonly #of: StatementSync;
  readonly #delete: StatementSync;
  readonly #clear: StatementSync;
  readonly #next: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'keys', ['block', 'identity', 'occurrence', 'key']);
    this.nextTable = new CheckedTable(database, 'next_keys', ['block', 'next']);
    this.#of = database.prepare('SELECT identity, occurrence, key FROM keys WHERE block = ?');
    this.#delete = database.prepare('DELETE FROM keys WHERE block = ? AND identity = ? AND occurrence = ?');
    this.#next = database.prepare('SELECT next FROM next_keys WHERE block = ?');
    this.#clear = database.prepare('DELETE FROM keys WHERE block = ?');
  }

  of(block: string): KeyRow[] {
    return this.#of.all(block) as unknown as KeyRow[];
  }

  put(block: string, entry: KeyRow): void {
    this.table.put(block, entry.identity, entry.occurrence, entry.key);
  }

  delete(block: string, entry: KeyRow): void {
    this.#delete.run(block, entry.identity, entry.occurrence);
  }

  /** Forgets those of a block; {@link next} stays. */
  clear(block: string): void {
    this.#clear.run(block);
  }

  /** The next key of a block that was never used. */
  next(block: string): number {
    return Number(this.#next.get(block)?.['next'] ?? 0);
  }

  /** Never goes back. */
  setNext(block: string, next: number): void {
    if (next > this.next(block)) this.nextTable.put(block, next);
  }
}

export interface PairRow {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  /** Epoch milliseconds; 0: never. */
  readonly expires: number;
}

/** Key-value pairs. */
export class PairTable {
  readonly table: CheckedTable;
  readonly #all: StatementSync;
  readonly #delete: StatementSync;
  readonly #from: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'pairs', ['key', 'value', 'version', 'expires']);
    this.#all = database.prepare('SELECT key, value, version, expires FROM pairs');
    this.#delete = database.prepare('DELETE FROM pairs WHERE key = ?');
    this.#from = database.prepare('SELECT key, value, version, expires FROM pairs WHERE key >= ? AND key > ? ORDER BY key');
  }

  all(): Iterable<PairRow> {
    return this.#all.iterate() as unknown as Iterable<PairRow>;
  }

  put(entry: PairRow): void {
    this.table.put(entry.key, entry.value, entry.version, entry.expires);
  }

  delete(key: string): void {
    this.#delete.run(key);
  }

  /** Pairs from `prefix` on that come after `after`, in the order of their UTF-8 bytes. Stop reading when the prefix ends. */
  from(prefix: string, after: string): Iterable<PairRow> {
    return this.#from.iterate(prefix, after) as unknown as Iterable<PairRow>;
  }
}
