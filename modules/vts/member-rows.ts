import type { FigureRow, FigureTable } from '../../core/contract/figures.js';
import type { MemberAttempt } from '../../core/contract/member-attempt.js';
import type { Upstreams } from '../../core/contract/upstreams.js';
import { countAttempt, countTimes } from './counting.js';
import { keyOf, MEMBER_SHAPE, UPSTREAM_SHAPE, type RowKind } from './layout.js';

interface UpstreamRows {
  /** Undefined: no room for it. */
  readonly row: FigureRow | undefined;
  /** Rows that may be made for it; undefined: as many as it has members. */
  readonly most: number | undefined;
  readonly members: Map<string, FigureRow | undefined>;
}

/** The rows of upstreams and their members in one worker, found as attempts end. */
export class MemberRows {
  readonly #upstreams = new Map<string, UpstreamRows>();
  /** That of the last attempt: most requests of a worker are for few upstreams. */
  #last: { readonly name: string; readonly rows: UpstreamRows } | undefined;

  constructor(
    private readonly table: FigureTable,
    private readonly upstreams: Pick<Upstreams, 'get'>,
    private readonly kinds: { readonly upstream: RowKind; readonly member: RowKind },
    /** Rows for addresses that no `upstream` block names: clients of a forward proxy choose them. */
    private readonly most: number,
  ) {}

  /** Counts an attempt that has ended. */
  count(attempt: MemberAttempt): void {
    const upstream = this.#rowsOf(attempt.upstream);
    const { address } = attempt;
    let member = upstream.members.get(address);
    if (member === undefined && !upstream.members.has(address)) {
      member = this.table.row(keyOf(this.kinds.member, attempt.upstream, address), MEMBER_SHAPE, upstream.most);
      if (upstream.most === undefined || member !== undefined) upstream.members.set(address, member);
    }
    if (member !== undefined) countAttempt(attempt, member);
    if (upstream.row === undefined) return;
    countAttempt(attempt, upstream.row);
    countTimes(attempt, upstream.row);
  }

  /** The rows are not valid any more. */
  clear(): void {
    this.#upstreams.clear();
    this.#last = undefined;
  }

  #rowsOf(name: string): UpstreamRows {
    const last = this.#last;
    if (last?.name === name) return last.rows;
    const rows = this.#upstreams.get(name) ?? this.#found(name);
    if (this.#upstreams.has(name)) this.#last = { name, rows };
    return rows;
  }

  #found(name: string): UpstreamRows {
    const most = this.upstreams.get(name) === undefined ? this.most : undefined;
    const rows: UpstreamRows = { row: this.table.row(keyOf(this.kinds.upstream, name), UPSTREAM_SHAPE, most), most, members: new Map() };
    if (most === undefined || rows.row !== undefined) this.#upstreams.set(name, rows);
    return rows;
  }
}
