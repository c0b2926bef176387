import type { Collector, NamedRow, Scrape } from './collector.js';
import { OTHER } from './filters.js';
import type { RowKind } from './layout.js';
import type { Rates } from './rates.js';
import { shownName } from './shown-name.js';
import { viewOf, type RowView } from './views.js';

/** Sections of the API and the kinds of rows in each. */
export const SECTIONS: Readonly<Record<string, readonly RowKind[]>> = {
  http: ['main'],
  servers: ['server'],
  locations: ['location'],
  filters: ['filter', 'other'],
  upstreams: ['upstream', 'member'],
  stream_servers: ['stream_server'],
  stream_upstreams: ['stream_upstream', 'stream_member'],
};

/** Which rows. */
export interface Selection {
  /** A section; absent: all. */
  readonly group?: string | undefined;
  readonly name?: string | undefined;
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

/** Rows of a page: their distributions are summed up within a few milliseconds. */
const PAGE = 100;
/** Listings under way, of which the oldest goes for another one. */
const MOST = 16;

interface Listing {
  readonly rows: readonly NamedRow[];
  readonly scrape: Scrape;
  next: number;
}

/** Listings of rows, page by page, so that none of them keeps the main thread long. */
export class Pages {
  readonly #listings = new Map<string, Listing>();
  #number = 0;

  constructor(
    private readonly collector: Collector,
    private readonly rates: Rates,
  ) {}

  /** @returns undefined if the listing is not known any more */
  page({ next, ...selection }: PageCall): Page | undefined {
    const id = next ?? this.#begin(selection);
    const listing = this.#listings.get(id);
    if (listing === undefined) return undefined;
    const rows = listing.rows.slice(listing.next, listing.next + PAGE).map((row) => this.#shown(row));
    listing.next += PAGE;
    if (listing.next < listing.rows.length) return { rows, next: id };
    this.#listings.delete(id);
    // Only a reader of all rows has seen what ended.
    if (selection.group === undefined && listing.rows.length === listing.scrape.rows.length) listing.scrape.done();
    return { rows };
  }

  #begin(selection: Selection): string {
    const scrape = this.collector.scrape();
    const id = String(++this.#number);
    const [oldest] = this.#listings.keys();
    if (oldest !== undefined && this.#listings.size >= MOST) this.#listings.delete(oldest);
    this.#listings.set(id, { rows: selected(scrape.rows, selection), scrape, next: 0 });
    return id;
  }

  #shown({ kind, name, part, totals }: NamedRow): ShownRow {
    const isGroup = kind === 'filter' || kind === 'other';
    const shownPart = kind === 'other' ? OTHER : isGroup ? shownName(part) : part;
    return {
      section: sectionOf(kind),
      name: kind === 'main' ? 'all' : isGroup ? shownName(name) : name,
      ...((isGroup || part !== '') && { part: shownPart }),
      view: { ...viewOf(kind, totals), ...(kind !== 'main' && { rates: this.rates.of(totals) }), since: totals.createdAt },
    };
  }
}

/** Rows of a selection, by section, name and part. */
export function selected(rows: readonly NamedRow[], { group, name }: Selection): NamedRow[] {
  const order = Object.keys(SECTIONS);
  const placed = rows
    .filter((row) => (group === undefined || sectionOf(row.kind) === group) && (name === undefined || row.name === name))
    .map((row) => ({ row, place: order.indexOf(sectionOf(row.kind)) }));
  placed.sort((a, b) => a.place - b.place || compare(a.row.name, b.row.name) || compare(a.row.part, b.row.part));
  return placed.map(({ row }) => row);
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const SECTION_OF = new Map(Object.entries(SECTIONS).flatMap(([section, kinds]) => kinds.map((kind) => [kind, section] as const)));
const sectionOf = (kind: RowKind): string => SECTION_OF.get(kind) ?? '';
