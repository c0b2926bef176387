import type { ZoneSize } from '../../core/contract/args.js';
import type { FigureTable } from '../../core/contract/figures.js';
import type { MetricScope } from '../../core/contract/metrics.js';
import type { Zones } from '../../core/contract/zones.js';

/** The memory of statistics, which the modules of both traffic engines count in. */
export abstract class StatisticsMemory {
  static readonly service = 'srv.vts';
  /** Memory without a directive. For `compile`. */
  abstract own(scope: MetricScope): FigureTable;
  /** In workers: calls `step` when rows that `row` of a table has returned are invalid. */
  abstract onTrim(step: () => void): void;
}

/** The tables that are in use in one thread. */
export class StatisticsTables {
  readonly #uses = new Map<FigureTable, number>();

  constructor(
    private readonly zones: Zones,
    private readonly ownZone: ZoneSize,
  ) {}

  /** @param zone undefined: memory without a directive */
  use(zone: ZoneSize | undefined, scope: MetricScope): FigureTable {
    const table = this.zones.figures(zone ?? this.ownZone);
    this.#uses.set(table, (this.#uses.get(table) ?? 0) + 1);
    const release = (): void => {
      const left = (this.#uses.get(table) ?? 1) - 1;
      this.#uses.set(table, left);
    };
    scope.register({ abort: release, release });
    return table;
  }

  /** StatisticsTables with rows that are counted in, or that were not read since. */
  get all(): FigureTable[] {
    return [...this.#uses.keys()];
  }

  /** That in use, the oldest; undefined: nothing is counted. */
  get current(): FigureTable | undefined {
    for (const [table, uses] of this.#uses) if (uses > 0) return table;
    return undefined;
  }

  /** Forgets tables that nothing uses and that have no rows any more. */
  forget(): void {
    for (const [table, uses] of this.#uses) if (uses === 0 && table.totals().length === 0) this.#uses.delete(table);
  }
}
