import { Distribution } from '../../core/contract/distribution.js';
import type { Collector, NamedRow, Scrape } from './collector.js';
import { OTHER } from './filters.js';
import type { RowKind } from './layout.js';
import type { Rates } from './rates.js';
import { sectionOf, SECTIONS } from './sections.js';
import { shownName } from './shown-name.js';
import { viewOf, type RowView } from './views.js';

/** Rows without rates: their first figures are others. */
const UNRATED: ReadonlySet<RowKind> = new Set(['main', 'listener']);

/** Which rows. */
export interface Selection {
  /** A section; absent: all. */
  readonly group?: string | undefined;
  readonly name?: string | undefined;
}

/** Rows whose times are summed up before others run. */
const SUMMED = 20;

/** Times of all requests, over the servers. */
export async function timesOfServers(rows: readonly NamedRow[], pause: () => Promise<unknown>): Promise<Distribution> {
  const [sum, one] = [new Distribution(), new Distribution()];
  let summed = 0;
  for (const { kind, totals } of rows) {
    if (kind !== 'server') continue;
    if (summed++ % SUMMED === SUMMED - 1) await pause();
    sum.merge(totals.distribution(0, one));
  }
  return sum;
}

export interface PageCall extends Selection {
  /** Of a page before. */
  readonly next?: string | undefined;
}

/** A row in a response. */
export interface ShownRow {
  readonly section: string;
  readonly name: string;
  /** A member, or a key of a group; absent: the whole. */
  readonly part?: string;
  readonly view: RowView;
}

export interface Page {
  readonly rows: readonly ShownRow[];
  /** For the next page; absent: this is the last one. */
  readonly next?: string;
}

/** Rows of a page. */
const PAGE = 100;
/** Rows whose figures are summed up before others run, and rows that are sorted. */
const PIECE = 20;
const SORTED = 1000;
/** Listings under way, of which the oldest goes for another one. */
const MOST = 16;

interface Listing {
  readonly rows: MergedRows;
  readonly isWhole: boolean;
  readonly scrape: Scrape;
}

/** Listings of rows, page by page and each of them in pieces, so that none keeps the main thread long. */
export class Pages {
  readonly #listings = new Map<string, Listing>();
  #number = 0;

  /** @param pause called after each piece */
  constructor(
    private readonly collector: Pick<Collector, 'list' | 'scrape'>,
    private readonly rates: Pick<Rates, 'of'>,
    private readonly pause: () => Promise<unknown>,
  ) {}

  /** @returns undefined if the listing is not known any more */
  async page({ next, ...selection }: PageCall): Promise<Page | undefined> {
    const id = next ?? (await this.#begin(selection));
    const listing = this.#listings.get(id);
    if (listing === undefined) return undefined;
    const rows: ShownRow[] = [];
    for (const row of listing.rows.take(PAGE)) {
      if (rows.length > 0 && rows.length % PIECE === 0) await this.pause();
      rows.push(this.#shown(row));
    }
    if (listing.rows.left > 0) return { rows, next: id };
    this.#listings.delete(id);
    // Only a reader of all rows has seen what ended.
    if (listing.isWhole) listing.scrape.done();
    return { rows };
  }

  async #begin(selection: Selection): Promise<string> {
    await this.collector.list(this.pause);
    const scrape = this.collector.scrape();
    const rows = await sorted(scrape.rows, selection, this.pause);
    const id = String(++this.#number);
    const [oldest] = this.#listings.keys();
    if (oldest !== undefined && this.#listings.size >= MOST) this.#listings.delete(oldest);
    this.#listings.set(id, { rows, isWhole: rows.left === scrape.rows.length, scrape });
    return id;
  }

  #shown({ kind, name, part, totals }: NamedRow): ShownRow {
    const isGroup = kind === 'filter' || kind === 'other';
    const shownPart = kind === 'other' ? OTHER : isGroup ? shownName(part) : part;
    return {
      section: sectionOf(kind),
      name: kind === 'main' ? 'all' : isGroup ? shownName(name) : name,
      ...((isGroup || part !== '') && { part: shownPart }),
      view: { ...viewOf(kind, totals), ...(!UNRATED.has(kind) && { rates: this.rates.of(totals) }), since: totals.createdAt },
    };
  }
}

/** Rows of a selection, in their order. */
export function selected(rows: readonly NamedRow[], { group, name }: Selection): NamedRow[] {
  return rows.filter((row) => (group === undefined || sectionOf(row.kind) === group) && (name === undefined || row.name === name));
}

/** Rows of a selection by section, name and part. */
async function sorted(rows: readonly NamedRow[], selection: Selection, pause: () => Promise<unknown>): Promise<MergedRows> {
  const runs: (readonly PlacedRow[])[] = [];
  for (let at = 0; at < rows.length; at += SORTED) {
    if (at > 0) await pause();
    const run = selected(rows.slice(at, at + SORTED), selection).map((row) => ({ row, place: ORDER.indexOf(sectionOf(row.kind)) }));
    if (run.length > 0) runs.push(run.sort(compare));
  }
  return new MergedRows(runs);
}

interface PlacedRow {
  readonly row: NamedRow;
  /** Of its section. */
  readonly place: number;
}

/** Sorted runs of rows, merged as they are read. */
class MergedRows {
  readonly #next: number[];
  left: number;

  constructor(private readonly runs: readonly (readonly PlacedRow[])[]) {
    this.#next = runs.map(() => 0);
    this.left = runs.reduce((sum, { length }) => sum + length, 0);
  }

  take(count: number): NamedRow[] {
    const rows: NamedRow[] = [];
    while (this.left > 0 && rows.length < count) rows.push(this.#takeOne());
    return rows;
  }

  #takeOne(): NamedRow {
    let [least, from] = [undefined as PlacedRow | undefined, 0];
    for (const [run, rows] of this.runs.entries()) {
      const head = rows[this.#next[run]!];
      if (head === undefined || (least !== undefined && compare(least, head) <= 0)) continue;
      least = head;
      from = run;
    }
    this.#next[from]!++;
    this.left--;
    return least!.row;
  }
}

function compare(one: PlacedRow, other: PlacedRow): number {
  return one.place - other.place || compareTexts(one.row.name, other.row.name) || compareTexts(one.row.part, other.row.part);
}
const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const ORDER = Object.keys(SECTIONS);
