import { setImmediate } from 'node:timers/promises';
import type { FigureTable, FigureTotals } from '../../core/contract/figures.js';
import type { Upstreams } from '../../core/contract/upstreams.js';
import { partsOf, type RowKind } from './layout.js';
import type { StatisticsTables } from './tables.js';

/** A row with its names. */
export interface NamedRow {
  readonly kind: RowKind;
  readonly name: string;
  /** A member, or a key of a group. */
  readonly part: string;
  readonly totals: FigureTotals;
  readonly table: FigureTable;
}

/** All rows at one moment. */
export interface Scrape {
  readonly rows: readonly NamedRow[];
  readonly byKind: ReadonlyMap<RowKind, readonly NamedRow[]>;
  /** All of it was read: removes rows that had ended by then. */
  readonly done: () => void;
}

type Known = Pick<Upstreams, 'get'>;

/** The configuration that rows are of. */
export interface Configured {
  readonly http: Known;
  readonly stream: Known;
  /** Addresses that the server listens on. */
  readonly addresses: () => ReadonlySet<string>;
}

/** Members that are looked at before others run. */
const PIECE = 500;
/** Rows whose names are taken apart before others run. */
const NAMED = 1000;
/** Rows that are removed before others run. */
const REMOVED = 100;

/** The rows of all tables, for readers in the main thread. */
export class Collector {
  /** Names of rows, taken apart once. */
  readonly #named = new WeakMap<FigureTotals, NamedRow>();
  /** Upstreams of the configuration that have rows. */
  readonly #seen = new Set<string>();
  #isSweeping = false;
  /** Rows as they were when the tables had these lists. */
  #rows: readonly NamedRow[] = [];
  #lists: readonly (readonly FigureTotals[])[] = [];
  #byKind: ReadonlyMap<RowKind, readonly NamedRow[]> = new Map();
  /** Rows that had ended when the tables had these {@link FigureTable.endings}. */
  #ended: readonly NamedRow[] = [];
  #endings: string | undefined;

  constructor(
    private readonly tables: StatisticsTables,
    private readonly configured: Configured,
    private readonly run: (work: () => Promise<void>) => void,
  ) {}

  get rows(): readonly NamedRow[] {
    const tables = this.tables.all;
    const lists = tables.map((table) => table.totals());
    if (lists.length === this.#lists.length && lists.every((list, at) => list === this.#lists[at])) return this.#rows;
    this.#lists = lists;
    this.#endings = undefined;
    return (this.#rows = tables.flatMap((table, at) => lists[at]!.map((totals) => this.#nameOf(totals, table))));
  }

  /** Lists rows that are new, in pieces: later calls of {@link rows} have little to do. @param pause called after each piece */
  async list(pause: () => Promise<unknown>): Promise<void> {
    for (const table of this.tables.all) {
      let rows = table.totals();
      for (let before: typeof rows = []; rows !== before; rows = table.totals()) {
        before = rows;
        await pause();
      }
      if (this.#lists.includes(rows)) continue;
      for (const [at, totals] of rows.entries()) {
        if (at > 0 && at % NAMED === 0) await pause();
        this.#nameOf(totals, table);
      }
    }
  }

  scrape(): Scrape {
    const { rows } = this;
    this.#lookForEnded(rows);
    const ended = this.#ended;
    return { rows, byKind: this.#byKind, done: () => this.#sweep(rows, ended) };
  }

  /** Looks at all rows where some may have ended or are new, and at none otherwise. */
  #lookForEnded(rows: readonly NamedRow[]): void {
    const endings = this.tables.all.map((table) => table.endings).join(' ');
    if (endings === this.#endings) return;
    this.#endings = endings;
    this.#ended = rows.filter(({ totals }) => totals.hasEnded);
    this.#byKind = Map.groupBy(rows, ({ kind }) => kind);
  }

  /** Rows of groups, rows that no zone had room for, and bytes of the zones. */
  get budget(): Readonly<Record<'groups' | 'rejected' | 'size' | 'used', number>> {
    const budget = { groups: 0, rejected: 0, size: 0, used: 0 };
    for (const { limited, rejected, memory } of this.tables.all) {
      budget.groups += limited;
      budget.rejected += rejected;
      budget.size += memory.size;
      budget.used += memory.used;
    }
    return budget;
  }

  #sweep(rows: readonly NamedRow[], ended: readonly NamedRow[]): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.run(async () => {
      try {
        await removed(ended);
        this.tables.forget();
        await this.#endMembers(rows);
        this.#endListeners(rows);
      } finally {
        this.#isSweeping = false;
      }
    });
  }

  /** Ends rows of members and upstreams that the configuration had and has no more. Workers release them. */
  async #endMembers(rows: readonly NamedRow[]): Promise<void> {
    const members = new Map<string, ReadonlySet<string> | undefined>();
    let looked = 0;
    for (const { kind, name, part, totals, table } of rows) {
      if (!isOfUpstream(kind)) continue;
      const isStream = kind.startsWith('stream');
      const key = `${isStream ? 'stream' : 'http'} ${name}`;
      if (!members.has(key)) {
        members.set(key, await membersOf(this.configured[isStream ? 'stream' : 'http'].get(name)));
        if (members.get(key) !== undefined) this.#seen.add(key);
      }
      if (++looked % PIECE === 0) await setImmediate();
      const known = members.get(key);
      const isThere = known === undefined ? !this.#seen.has(key) : part === '' || known.has(part);
      if (!isThere) table.end(totals);
    }
    for (const key of this.#seen) if (!members.has(key)) this.#seen.delete(key);
  }

  /** Ends rows of listeners that the configuration has no more, when their last connection is closed. */
  #endListeners(rows: readonly NamedRow[]): void {
    const listeners = rows.filter(({ kind }) => kind === 'listener');
    if (listeners.length === 0) return;
    const addresses = this.configured.addresses();
    for (const { name, totals, table } of listeners) if (!addresses.has(name) && totals.gauge(0) <= 0) table.end(totals);
  }

  #nameOf(totals: FigureTotals, table: FigureTable): NamedRow {
    const known = this.#named.get(totals);
    if (known !== undefined) return known;
    const row: NamedRow = { ...partsOf(totals.key), totals, table };
    this.#named.set(totals, row);
    return row;
  }
}

/** Removes rows, piece by piece. */
async function removed(ended: readonly NamedRow[]): Promise<void> {
  for (const [at, { totals, table }] of ended.entries()) {
    if (at > 0 && at % REMOVED === 0) await setImmediate();
    table.sweep([totals]);
  }
}

function isOfUpstream(kind: RowKind): boolean {
  return kind === 'member' || kind === 'upstream' || kind === 'stream_member' || kind === 'stream_upstream';
}

/** Addresses of an upstream; undefined: the configuration has none of that name. */
async function membersOf(upstream: ReturnType<Known['get']>): Promise<ReadonlySet<string> | undefined> {
  if (upstream === undefined) return undefined;
  const found = new Set<string>();
  for (const { server } of upstream.peers) {
    found.add(server);
    if (found.size % PIECE === 0) await setImmediate();
  }
  return found;
}
