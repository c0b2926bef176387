import type { Counter, Gauge, Histogram, HistogramValue } from '../contract/metrics.js';
import { Counters } from './counters.js';

/** Memory of a metric: shared, or of this thread alone. */
export interface MetricPlace {
  readonly buffer: ArrayBufferLike;
  readonly offset: number;
}

/** Of a counter in each thread. */
export const LANE_BYTES = Float64Array.BYTES_PER_ELEMENT;

export const histogramBytes = (bounds: readonly number[]): number => (bounds.length + 2) * Counters.BYTES;

/** A metric as one thread uses it: its memory is found when it is first used. */
export interface ThreadMetric {
  /** Its group is not held by this thread any more: ends the share of the thread, and uses the memory no longer. */
  leave(): void;
}

/** A number for each thread, which that thread alone writes: an addition needs no atomic operation. */
export class ZoneCounter implements Counter, ThreadMetric {
  #lanes: Float64Array | undefined;

  constructor(
    private readonly find: () => MetricPlace,
    private readonly share: number,
    private readonly shares: number,
  ) {}

  add(amount = 1): void {
    if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`a counter adds whole numbers from 0, not ${amount}`);
    const lanes = this.#lanes ?? this.#found();
    lanes[this.share] = lanes[this.share]! + amount;
  }

  get value(): number {
    return sumOfLanes(this.#lanes ?? this.#found());
  }

  leave(): void {
    this.#lanes = undefined;
  }

  #found(): Float64Array {
    const { buffer, offset } = this.find();
    return (this.#lanes = new Float64Array(buffer, offset, this.shares));
  }
}

export class ZoneGauge implements Gauge, ThreadMetric {
  #words: Int32Array | undefined;

  constructor(
    private readonly find: () => MetricPlace,
    private readonly share: number,
    private readonly shares: number,
  ) {}

  set(value: number): void {
    assertNumber(value);
    Atomics.store(this.#words ?? this.#found(), this.share, Math.round(value));
  }

  add(amount: number): void {
    assertNumber(amount);
    const words = this.#words ?? this.#found();
    // No other thread writes this word while the thread lives.
    words[this.share] = words[this.share]! + Math.round(amount);
  }

  get value(): number {
    return sumOf(this.#words ?? this.#found(), this.shares);
  }

  leave(): void {
    if (this.#words !== undefined) Atomics.store(this.#words, this.share, 0);
    this.#words = undefined;
  }

  #found(): Int32Array {
    const { buffer, offset } = this.find();
    return (this.#words = new Int32Array(buffer, offset, this.shares));
  }
}

export class ZoneHistogram implements Histogram, ThreadMetric {
  #counters: Counters | undefined;

  constructor(
    private readonly find: () => MetricPlace,
    private readonly bounds: readonly number[],
  ) {}

  observe(value: number): void {
    assertNumber(value);
    const { bounds } = this;
    let range = 0;
    while (range < bounds.length && value > bounds[range]!) range++;
    const counters = this.#place;
    counters.add(range, 1);
    counters.add(bounds.length + 1, Math.max(Math.round(value), 0));
  }

  get value(): HistogramValue {
    const counters = this.#place;
    return histogramOf(
      this.bounds,
      Array.from({ length: this.bounds.length + 2 }, (_, at) => counters.read(at)),
    );
  }

  leave(): void {
    this.#counters = undefined;
  }

  /** One for each range, one for what is above them, one for the sum. */
  get #place(): Counters {
    return (this.#counters ??= countersAt(this.find(), this.bounds.length + 2));
  }
}

/** @param amounts how many values fell into each range and above them, and their sum */
export function histogramOf(bounds: readonly number[], amounts: readonly number[]): HistogramValue {
  let count = 0;
  const buckets = bounds.map((bound, range) => ({ bound, count: (count += amounts[range] ?? 0) }));
  return { count: count + (amounts[bounds.length] ?? 0), sum: amounts[bounds.length + 1] ?? 0, buckets };
}

/** The sum over all threads. A lane is aligned: a read of it is of one moment. */
export function sumOfLanes(lanes: Float64Array): number {
  let sum = 0;
  for (const lane of lanes) sum += lane;
  return sum;
}

export function sumOf(shares: Int32Array, length: number): number {
  let sum = 0;
  for (let share = 0; share < length; share++) sum += Atomics.load(shares, share);
  return sum;
}

const countersAt = ({ buffer, offset }: MetricPlace, length: number): Counters => new Counters(buffer, offset, length);

function assertNumber(value: number): void {
  if (!Number.isFinite(value)) throw new RangeError(`the value of a metric must be a number, not ${value}`);
}
