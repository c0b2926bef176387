import type { FigureTotals } from '../../core/contract/figures.js';
import type { NamedRow } from './collector.js';
import { FailingRows, type FailingRow } from './failing-rows.js';
import { SlowMembers, type SlowMember } from './slow-members.js';

/** Rows that are looked at before others run. */
const PIECE = 250;

/** Failing rows and slow members, and since when: looked at every ten seconds in the main thread. */
export class Watch {
  readonly #failing = new FailingRows();
  readonly #slow = new SlowMembers();
  #before = 0;

  /** The worst first. */
  get slow(): readonly SlowMember[] {
    return this.#slow.list();
  }

  get failing(): readonly FailingRow[] {
    return this.#failing.list();
  }

  /** @param now epoch milliseconds @param pause called after each piece */
  async look(rows: readonly NamedRow[], now: number, pause: () => Promise<unknown>): Promise<void> {
    const since = this.#before;
    this.#before = now;
    for (const [at, row] of rows.entries()) {
      if (at % PIECE === PIECE - 1) await pause();
      this.#failing.look(row, since, now);
      this.#slow.look(row);
    }
    this.#slow.judge(since);
  }

  /** Forgets a row that was set to zero. */
  clear(totals: FigureTotals): void {
    this.#failing.clear(totals);
    this.#slow.clear(totals);
  }
}
