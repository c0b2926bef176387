import type { RowShape } from '../contract/figures.js';
import { cellsOf, FigureMemory, type MadeAs } from './figure-memory.js';
import type { Zone } from './zone.js';

/** A row of figures, or by how much it has changed. */
export interface CarriedRow {
  readonly key: string;
  readonly shape: RowShape;
  readonly made: MadeAs;
  /** Epoch milliseconds. */
  readonly created: number;
  /** In turn the number of a cell, and what is added to it. */
  readonly cells: readonly number[];
}

/** Gives the rows of a zone that something was counted in: at the first call all of them, later by how much they have changed. */
export class SentFigures {
  /** By key: another row may come to the place of one. */
  readonly #sent = new Map<string, Float64Array>();

  constructor(
    private readonly zone: Zone,
    private readonly threads: number,
  ) {}

  changes(): CarriedRow[] {
    const memory = FigureMemory.find(this.zone, this.threads);
    if (memory === undefined) return [];
    const rows = memory.list(new Map(), Infinity).map(({ offset, key }): CarriedRow => {
      const shape = memory.shapeOf(offset);
      const now = memory.sums(offset, 0, new Float64Array(cellsOf(shape)));
      return { key, shape, made: memory.madeAs(offset), created: memory.createdAt(offset), cells: this.#changed(key, now) };
    });
    return rows.filter(({ cells }) => cells.length > 0);
  }

  #changed(key: string, now: Float64Array): readonly number[] {
    const before = this.#sent.get(key);
    const cells: number[] = [];
    for (const [at, amount] of now.entries()) {
      const change = amount - (before?.[at] ?? 0);
      if (change !== 0) cells.push(at, change);
    }
    if (cells.length > 0) this.#sent.set(key, now);
    return cells;
  }
}

/**
 * Adds rows of the program before to those of this one. Rows of the configuration that this one does not have, and rows that it has with other figures, are left
 * out.
 * @param thread whose lanes they are added to: no thread of this program writes there
 */
export function takeFigures(zone: Zone, threads: number, thread: number, rows: readonly CarriedRow[]): void {
  const memory = rows.length === 0 ? undefined : FigureMemory.open(zone, threads);
  for (const { key, shape, made, created, cells } of rows) {
    const row = memory?.receive(key, shape, made, created) ?? 0;
    const lane = row === 0 ? undefined : memory?.lane(row, thread);
    if (lane === undefined) continue;
    for (let at = 0; at < cells.length; at += 2) lane[cells[at]!]! += cells[at + 1]!;
  }
}
