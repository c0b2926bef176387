import type { FigureTotals } from '../../core/contract/figures.js';

/** Figures that have rates: the first ones of each kind of row. */
const FIGURES = ['requests', 'received', 'sent', 'errors'] as const;
export const WINDOWS = ['1s', '10s', '1m', '5m'] as const;

/** Samples of a second, and of ten seconds: one more than there are in 10 seconds, and in 5 minutes. */
const FINE = 11;
const COARSE = 31;
/** Samples of a second in one of ten. */
const STEP = 10;
/** Moment and figures. */
const WIDTH = 1 + FIGURES.length;

/** Between two samples. Milliseconds. */
export const INTERVAL = 1000;

export type RatesView = Readonly<Record<(typeof FIGURES)[number], Readonly<Record<(typeof WINDOWS)[number], number>>>>;

/** Samples of one row. */
class Samples {
  readonly #fine = new Float64Array(FINE * WIDTH);
  #coarse: Float64Array | undefined;
  #count = 0;

  /** @returns true if requests were counted since the sample before */
  push(now: number, totals: FigureTotals): boolean {
    const before = this.#count === 0 ? 0 : this.#fine[((this.#count - 1) % FINE) * WIDTH + 1];
    const place = (this.#count % FINE) * WIDTH;
    this.#fine[place] = now;
    this.#fine.set(totals.counters(0, FIGURES.length), place + 1);
    this.#keep(place);
    return before !== this.#fine[place + 1];
  }

  /** The state before anything was counted. */
  begin(now: number): void {
    this.#fine[0] = now;
    this.#keep(0);
  }

  clear(): void {
    this.#count = 0;
    this.#fine.fill(0);
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  view(): RatesView {
    const all = FIGURES.map((figure, at) => {
      const values = [this.#fineRate(at, 1), this.#fineRate(at, STEP), this.#coarseRate(at, 6), this.#coarseRate(at, COARSE - 1)];
      return [figure, Object.fromEntries(WINDOWS.map((window, place) => [window, values[place]]))];
    });
    return Object.fromEntries(all) as RatesView;
  }

  #keep(place: number): void {
    if (this.#count % STEP === 0) {
      this.#coarse ??= new Float64Array(COARSE * WIDTH);
      this.#coarse.set(this.#fine.subarray(place, place + WIDTH), (Math.floor(this.#count / STEP) % COARSE) * WIDTH);
    }
    this.#count++;
  }

  #fineRate(figure: number, back: number): number {
    const last = this.#count - 1;
    if (last < 1) return 0;
    const then = (Math.max(last - back, 0) % FINE) * WIDTH;
    return rateOf(this.#fine, (last % FINE) * WIDTH, this.#fine, then, figure);
  }

  /** From the newest sample back to one of ten seconds. */
  #coarseRate(figure: number, back: number): number {
    const last = this.#count - 1;
    if (last < 1 || this.#coarse === undefined) return 0;
    const newest = Math.floor(last / STEP);
    const then = (Math.max(newest - back, 0, newest - COARSE + 1) % COARSE) * WIDTH;
    return rateOf(this.#fine, (last % FINE) * WIDTH, this.#coarse, then, figure);
  }
}

function rateOf(samples: Float64Array, now: number, others: Float64Array, then: number, figure: number): number {
  const ms = samples[now]! - others[then]!;
  return ms <= 0 ? 0 : ((samples[now + 1 + figure]! - others[then + 1 + figure]!) * 1000) / ms;
}

/** Rates of rows over the last second, ten seconds, minute and five minutes: measured each second in the main thread. */
export class Rates {
  readonly #samples = new WeakMap<FigureTotals, Samples>();
  /** When the sample before was taken. */
  #before = 0;
  /** Number of the last sample in which something was counted. */
  #changed = 0;
  #number = 0;

  /** Of the last sample. */
  get number(): number {
    return this.#number;
  }

  /** True if something was counted after that sample, or it is none of these: its number is of an earlier start. */
  hasChangedAfter(number: number): boolean {
    return this.#changed > number || number > this.#number;
  }

  /** Takes a sample of all rows, in pieces. @param pause called after each piece */
  async sample(rows: readonly { readonly totals: FigureTotals }[], now: number, pause: () => Promise<unknown>): Promise<void> {
    const before = this.#before;
    this.#before = now;
    let hasChanged = false;
    let looked = 0;
    for (const { totals } of rows) {
      if (this.#samplesOf(totals, Math.max(before, totals.createdAt)).push(now, totals)) hasChanged = true;
      if (++looked % PIECE === 0) await pause();
    }
    this.#number++;
    if (hasChanged) this.#changed = this.#number;
  }

  of(totals: FigureTotals): RatesView {
    return (this.#samples.get(totals) ?? new Samples()).view();
  }

  /** Forgets the samples of a row that was reset. */
  clear(totals: FigureTotals): void {
    this.#samples.get(totals)?.clear();
  }

  #samplesOf(totals: FigureTotals, since: number): Samples {
    const known = this.#samples.get(totals) ?? new Samples();
    this.#samples.set(totals, known);
    if (known.isEmpty) known.begin(since);
    return known;
  }
}

/** Rows that are sampled before others run. */
const PIECE = 250;
