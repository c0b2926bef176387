import {
  Metrics,
  type Counter,
  type Gauge,
  type Histogram,
  type HistogramValue,
  type Labels,
  type MetricValue,
} from '../module/metrics.js';
import { Counters } from './counters.js';
import { HashTable } from './hash-table.js';
import { wordOf } from './offsets.js';
import { Zone } from './zone.js';
import type { ZoneSet } from './zone-set.js';

/** No directive can name this zone. */
const ZONE = 'srv\0metrics';
const SIZE = 1024 * 1024;
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** What a metric is, as its key in the table says. */
interface Identity {
  readonly kind: MetricValue['kind'];
  readonly name: string;
  readonly labels: Labels;
  readonly bounds: readonly number[];
}

/** Memory of a metric: shared, or of this thread alone when the zone is full. */
interface Place {
  readonly buffer: ArrayBufferLike;
  readonly offset: number;
}

export interface ZoneMetricsOptions {
  readonly zones: ZoneSet;
  /** 0-based; -1: the master. */
  readonly worker: number;
  /** Workers that there are places for. */
  readonly workers: number;
  /** There is no room for a metric. */
  readonly onFull: (name: string) => void;
}

/** Metrics in a zone: counters of 64 bits for what grows, a word a thread for what rises and falls. */
export class ZoneMetrics extends Metrics {
  #zone: Zone | undefined;
  #table: HashTable | undefined;

  constructor(private readonly options: ZoneMetricsOptions) {
    super();
  }

  /** Makes the memory, which others adopt. In the master. */
  open(): void {
    this.#opened();
  }

  counter(name: string, labels: Labels = {}): Counter {
    return new ZoneCounter(this.#finder({ kind: 'counter', name, labels, bounds: [] }));
  }

  gauge(name: string, labels: Labels = {}): Gauge {
    const { worker, workers } = this.options;
    return new ZoneGauge(this.#finder({ kind: 'gauge', name, labels, bounds: [] }), Math.min(worker, workers - 1) + 1, workers + 1);
  }

  histogram(name: string, bounds: readonly number[], labels: Labels = {}): Histogram {
    return new ZoneHistogram(this.#finder({ kind: 'histogram', name, labels, bounds }), bounds);
  }

  read(): MetricValue[] {
    const { zone, table } = this.#opened();
    zone.enter();
    table.check();
    const keys = Array.from(table.values(), (value) => table.keyOf(value).toString());
    zone.leave();
    return keys.map((key) => this.#valueOf(JSON.parse(key) as Identity)).sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Ends the share that a dead worker had in gauges. Master only, after `ZoneSet.releaseOf`. */
  dropWorker(worker: number): void {
    const { zone, table } = this.#opened();
    zone.enter();
    table.check();
    for (const value of table.values()) {
      const { kind } = JSON.parse(table.keyOf(value).toString()) as Identity;
      if (kind === 'gauge' && worker < this.options.workers) Atomics.store(zone.i32, wordOf(value) + worker + 1, 0);
    }
    zone.leave();
  }

  #valueOf({ kind, name, labels, bounds }: Identity): MetricValue {
    if (kind === 'histogram') return { kind, name, labels, value: this.histogram(name, bounds, labels).value };
    return { kind, name, labels, value: kind === 'counter' ? this.counter(name, labels).value : this.gauge(name, labels).value };
  }

  #finder(identity: Identity): () => Place {
    if (!NAME.test(identity.name)) throw new RangeError(`invalid name of a metric: "${identity.name}"`);
    const labels = Object.entries(identity.labels).sort(([one], [other]) => (one < other ? -1 : 1));
    const key = JSON.stringify({ ...identity, labels: Object.fromEntries(labels) });
    return () => this.#place(identity, key);
  }

  #place({ kind, name, bounds }: Identity, key: string): Place {
    const bytes = { counter: Counters.BYTES, gauge: (this.options.workers + 1) * 4, histogram: (bounds.length + 2) * Counters.BYTES }[kind];
    const { zone, table } = this.#opened();
    zone.enter();
    table.check();
    const offset = table.find(key, false) || table.insert(key, bytes);
    zone.leave();
    if (offset !== 0) return { buffer: zone.buffer, offset };
    this.options.onFull(name);
    return { buffer: new ArrayBuffer(bytes), offset: 0 };
  }

  #opened(): { zone: Zone; table: HashTable } {
    const zone = (this.#zone ??= this.options.zones.open(ZONE, SIZE, 'metrics'));
    const table = (this.#table ??= HashTable.open(zone, 'metrics', { entries: 4096 }));
    if (table === undefined) throw new Error('no room for the table of metrics');
    return { zone, table };
  }
}

class ZoneCounter implements Counter {
  #counters: Counters | undefined;

  constructor(private readonly find: () => Place) {}

  add(amount = 1): void {
    if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`a counter adds whole numbers from 0, not ${amount}`);
    this.#place.add(0, amount);
  }

  get value(): number {
    return this.#place.read(0);
  }

  get #place(): Counters {
    return (this.#counters ??= countersAt(this.find(), 1));
  }
}

class ZoneGauge implements Gauge {
  #words: Int32Array | undefined;

  constructor(
    private readonly find: () => Place,
    private readonly share: number,
    private readonly shares: number,
  ) {}

  set(value: number): void {
    assertNumber(value);
    Atomics.store(this.#place, this.share, Math.round(value));
  }

  add(amount: number): void {
    assertNumber(amount);
    Atomics.add(this.#place, this.share, Math.round(amount));
  }

  get value(): number {
    const words = this.#place;
    let sum = 0;
    for (let share = 0; share < this.shares; share++) sum += Atomics.load(words, share);
    return sum;
  }

  get #place(): Int32Array {
    if (this.#words === undefined) {
      const { buffer, offset } = this.find();
      this.#words = new Int32Array(buffer, offset, this.shares);
    }
    return this.#words;
  }
}

class ZoneHistogram implements Histogram {
  #counters: Counters | undefined;

  constructor(
    private readonly find: () => Place,
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
    let count = 0;
    const buckets = this.bounds.map((bound, range) => ({ bound, count: (count += counters.read(range)) }));
    return { count: count + counters.read(this.bounds.length), sum: counters.read(this.bounds.length + 1), buckets };
  }

  /** One for each range, one for what is above them, one for the sum. */
  get #place(): Counters {
    return (this.#counters ??= countersAt(this.find(), this.bounds.length + 2));
  }
}

const countersAt = ({ buffer, offset }: Place, length: number): Counters => new Counters(buffer, offset, length);

function assertNumber(value: number): void {
  if (!Number.isFinite(value)) throw new RangeError(`the value of a metric must be a number, not ${value}`);
}
