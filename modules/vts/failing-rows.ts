/** Rows whose requests fail, and since when. */
import type { FigureTotals } from '../../core/contract/figures.js';
import type { NamedRow } from './collector.js';
import { AttemptFigure, CODES, Http, Stream, type RowKind } from './layout.js';
import { sectionOf } from './sections.js';

/** A row fails when this share of its requests has an error, and no longer after so many looks that found less. */
const ERROR_SHARE = 0.01;
const QUIET_LOOKS = 3;
/** Rows of the list at most. */
const LISTED = 50;
const FIRST_ERROR = CODES.indexOf(500);
const ERROR_CODES = CODES.slice(FIRST_ERROR);
/** First status of each kind of row that is watched. Attempts without a response have one, too. */
const STATUSES: Readonly<Partial<Record<RowKind, number>>> = {
  server: Http.Statuses,
  location: Http.Statuses,
  upstream: AttemptFigure.Statuses,
  member: AttemptFigure.Statuses,
  stream_server: Stream.Statuses,
  stream_upstream: AttemptFigure.Statuses,
  stream_member: AttemptFigure.Statuses,
};

export interface FailingRow {
  readonly section: string;
  readonly name: string;
  /** A member; absent: the whole. */
  readonly part?: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Per second, of the last look. */
  readonly requests: number;
  readonly errors: number;
  /** Errors since then by status. Attempts without a response have 502 or 504. */
  readonly codes: Readonly<Record<string, number>>;
}

/** Figures of a row at the last look. */
interface Seen {
  requests: number;
  errors: number;
  codes: Float64Array;
  failure: Failure | undefined;
}

interface Failure {
  readonly row: NamedRow;
  readonly since: number;
  /** Errors by status until then. */
  readonly before: Float64Array;
  requests: number;
  errors: number;
  /** Looks without errors. */
  quiet: number;
}

/** Looks at rows again and again, in the main thread. */
export class FailingRows {
  readonly #seen = new WeakMap<FigureTotals, Seen>();
  readonly #failures = new Set<Failure>();

  /** @param since when all rows were looked at before, and `now`: epoch milliseconds */
  look(row: NamedRow, since: number, now: number): void {
    const { kind, totals } = row;
    if (STATUSES[kind] === undefined) return;
    const requests = totals.counter(Http.Requests);
    const seen = this.#seen.get(totals);
    const codes = seen?.requests === requests ? seen.codes : codesOf(row);
    const errors = codes.reduce((sum, count) => sum + count, 0);
    if (seen === undefined) {
      this.#seen.set(totals, { requests, errors, codes, failure: undefined });
      return;
    }
    this.#judge(row, seen, { since, seconds: (now - since) / 1000, requests: requests - seen.requests, errors: errors - seen.errors });
    seen.requests = requests;
    seen.errors = errors;
    seen.codes = codes;
  }

  /** Rows with the most errors first. */
  list(): readonly FailingRow[] {
    for (const failure of this.#failures) if (failure.row.totals.hasEnded) this.#failures.delete(failure);
    return [...this.#failures]
      .sort((one, other) => other.errors - one.errors)
      .slice(0, LISTED)
      .map(({ row, since, before, requests, errors }) => ({
        section: sectionOf(row.kind),
        name: row.name,
        ...(row.part !== '' && { part: row.part }),
        since,
        requests,
        errors,
        codes: byStatus(codesOf(row), before),
      }));
  }

  /** Forgets a row that was set to zero. */
  clear(totals: FigureTotals): void {
    const failure = this.#seen.get(totals)?.failure;
    if (failure !== undefined) this.#failures.delete(failure);
    this.#seen.delete(totals);
  }

  #judge(row: NamedRow, seen: Seen, found: { since: number; seconds: number; requests: number; errors: number }): void {
    const isFailing = found.errors > 0 && found.errors >= found.requests * ERROR_SHARE;
    if (isFailing && seen.failure === undefined) {
      seen.failure = { row, since: found.since, before: seen.codes, requests: 0, errors: 0, quiet: 0 };
      this.#failures.add(seen.failure);
    }
    const { failure } = seen;
    if (failure === undefined) return;
    failure.requests = found.requests / found.seconds;
    failure.errors = found.errors / found.seconds;
    failure.quiet = isFailing ? 0 : failure.quiet + 1;
    if (failure.quiet < QUIET_LOOKS) return;
    this.#failures.delete(failure);
    seen.failure = undefined;
  }
}

function codesOf({ kind, totals }: NamedRow): Float64Array {
  return totals.counters((STATUSES[kind] ?? 0) + FIRST_ERROR, ERROR_CODES.length);
}

function byStatus(codes: Float64Array, before: Float64Array): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [at, status] of ERROR_CODES.entries()) {
    const count = codes[at]! - before[at]!;
    if (count > 0) found[status] = count;
  }
  return found;
}
