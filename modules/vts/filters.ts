import type { FigureRow, FigureTable } from '../../core/contract/figures.js';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import type { EndedRequest } from './counting.js';
import { HTTP_SHAPE, keyOf } from './layout.js';

/** A line of `vhost_traffic_status_filter_by_set_key`. */
export interface FilterLine {
  readonly key: Template;
  readonly group: Template | undefined;
}

/** Longest key that has a group of its own: the rest of a longer one is cut off. */
const LONGEST = 200;
/** Keys of a filter whose rows a worker keeps at hand; beyond that they are looked up in the table. */
const MOST_KNOWN = 10_000;

/** Name of the group of all keys without one. */
export const OTHER = 'other';

/** The groups of one line in one scope. */
export class Filter {
  readonly #rows = new Map<string, FigureRow>();

  constructor(
    private readonly table: FigureTable,
    private readonly line: FilterLine,
    private readonly most: number,
  ) {}

  count(request: HttpRequest, ended: EndedRequest): void {
    const key = this.line.key.of(request);
    if (key === '') return;
    const group = this.line.group?.of(request) ?? '';
    const row = this.#row(nameOf(group), nameOf(key));
    if (row !== undefined) ended.countIn(row);
  }

  /** The rows are not valid any more. */
  clear(): void {
    this.#rows.clear();
  }

  #row(group: string, key: string): FigureRow | undefined {
    if (key === OTHER) return this.#other(group);
    const name = keyOf('filter', group, key);
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const row = this.table.row(name, HTTP_SHAPE, this.most);
    if (row === undefined) return this.#other(group);
    if (this.#rows.size < MOST_KNOWN) this.#rows.set(name, row);
    return row;
  }

  /** The row of all keys that have none. A name that depends on the request is bounded as keys are. */
  #other(group: string): FigureRow | undefined {
    const isFixed = this.line.group?.constant !== undefined || this.line.group === undefined;
    return this.table.row(keyOf('other', isFixed ? group : ''), HTTP_SHAPE);
  }
}

/** Names are parts of keys of the table, and are shown. */
function nameOf(text: string): string {
  const cut = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  return cut.includes('\0') ? cut.replaceAll('\0', '') : cut;
}
