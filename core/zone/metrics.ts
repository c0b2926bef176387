import {
  Metrics,
  type Counter,
  type Gauge,
  type Histogram,
  type Labels,
  type MetricKinds,
  type MetricScope,
  type MetricValue,
} from '../contract/metrics.js';
import { SentAmounts, unlessEmpty, type CarriedState, type AmountChange } from './carried-state.js';
import { Counters } from './counters.js';
import { MetricGroup, type MetricIdentity, type MetricStore } from './metric-group.js';
import { histogramOf, LANE_BYTES, type MetricPlace } from './metric-kinds.js';
import { MetricMemory, type MetricMemoryKind } from './metric-memory.js';
import { numberOf, wordOf } from './offsets.js';
import type { ZoneSet } from './zone-set.js';

/** No directive can name this zone. */
const ZONE = 'srv\0metrics';
/** Room for about as many metrics, whose counters have a number for each thread. */
const MOST = 7000;
const SIZE = 1024 * 1024;

export interface ZoneMetricsOptions {
  readonly zones: ZoneSet;
  /** 0-based; -1: the master. */
  readonly worker: number;
  /** Workers that there are places for. */
  readonly workers: number;
  /** There is no room for a metric. */
  readonly onFull: (name: string) => void;
}

/** A metric as it is now, in numbers: sums, or one sum of all shares. */
interface Amounts {
  readonly identity: MetricIdentity;
  readonly amounts: readonly number[];
}

/** Metrics in a zone: counters of 64 bits for what grows, a word a thread for what rises and falls. Those without a group are the server's, and never end. */
export class ZoneMetrics extends Metrics implements MetricStore {
  readonly share: number;
  readonly shares: number;
  readonly #groups = new Map<string, MetricGroup>();
  #memory: MetricMemory | undefined;
  #isSweepPlanned = false;

  constructor(private readonly options: ZoneMetricsOptions) {
    super();
    const { worker, workers } = options;
    this.share = Math.min(worker, workers - 1) + 1;
    this.shares = workers + 1;
  }

  /** Makes the memory, which others adopt. In the master. */
  open(): void {
    this.#opened();
  }

  counter(name: string, labels?: Labels): Counter {
    return this.groupOf('').counter(name, labels);
  }

  gauge(name: string, labels?: Labels): Gauge {
    return this.groupOf('').gauge(name, labels);
  }

  histogram(name: string, bounds: readonly number[], labels?: Labels): Histogram {
    return this.groupOf('').histogram(name, bounds, labels);
  }

  group(name: string, scope: MetricScope): MetricKinds {
    const group = this.groupOf(name);
    group.holdFor(scope);
    return group;
  }

  /** The group of that name in this thread. It exists for others as long as it is held. */
  groupOf(name: string): MetricGroup {
    const known = this.#groups.get(name);
    if (known?.hasEnded === false) return known;
    const group = new MetricGroup(name, this);
    this.#groups.set(name, group);
    return group;
  }

  read(): MetricValue[] {
    const all = new Map<string, Amounts>();
    for (const one of this.#amounts()) {
      const key = JSON.stringify({ ...one.identity, group: '' });
      all.set(key, added(one, all.get(key)));
    }
    return Array.from(all.values(), valueOf).sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  hold(group: string): void {
    if (!this.#opened().hold(group, this.share)) this.options.onFull(group);
  }

  release(group: string): void {
    this.#groups.delete(group);
    if (!this.#opened().release(group, this.share) || this.#isSweepPlanned) return;
    // A change ends many of them.
    this.#isSweepPlanned = true;
    queueMicrotask(() => {
      this.#isSweepPlanned = false;
      this.#opened().sweep();
    });
  }

  place({ group, name }: MetricIdentity, key: string, kind: MetricMemoryKind, bytes: number): MetricPlace | undefined {
    const memory = this.#opened();
    const offset = memory.place(group, key, kind, bytes);
    if (offset !== 0) return { buffer: memory.zone.buffer, offset: memory.zone.start + offset };
    this.options.onFull(name);
    return undefined;
  }

  /**
   * All metrics, for the program that takes over.
   * @param place of a worker that does not exist: it has the share of gauges of the program before, and holds the groups that this one had
   */
  carried(place: number): CarriedState {
    return {
      form: 'metrics 2',
      give: () => {
        const sent = new SentAmounts();
        return () => unlessEmpty(sent.changes(this.#changes()));
      },
      take: (changes) => {
        for (const [key, amounts] of changes as readonly AmountChange[]) this.#add(key, amounts, place + 1);
      },
    };
  }

  /** Ends the share that a dead worker had in gauges, and the groups that it alone has held. Master only, after `ZoneSet.releaseOf`. */
  dropWorker(worker: number): void {
    if (worker < this.options.workers) this.#opened().drop(worker + 1);
  }

  *#changes(): Generator<AmountChange> {
    for (const [key, amounts] of this.#opened().read()) yield [key, amounts];
  }

  *#amounts(): Generator<Amounts> {
    for (const [key, amounts] of this.#opened().read()) yield { identity: JSON.parse(key) as MetricIdentity, amounts };
  }

  #add(key: string, amounts: readonly number[], share: number): void {
    const memory = this.#opened();
    const { group, kind } = JSON.parse(key) as MetricIdentity;
    memory.hold(group, share);
    const { form, bytes } = this.#memoryOf(kind, amounts);
    const offset = memory.place(group, key, form, bytes);
    if (offset === 0) return;
    if (kind === 'gauge') Atomics.add(memory.zone.i32, wordOf(offset) + share, amounts[0] ?? 0);
    else if (kind === 'counter') memory.zone.f64[numberOf(offset) + this.share]! += Math.max(amounts[0] ?? 0, 0);
    else addTo(new Counters(memory.zone.buffer, memory.zone.start + offset, amounts.length), amounts);
  }

  #memoryOf(kind: MetricIdentity['kind'], amounts: readonly number[]): { readonly form: MetricMemoryKind; readonly bytes: number } {
    if (kind === 'gauge') return { form: 'shares', bytes: this.shares * 4 };
    if (kind === 'counter') return { form: 'lanes', bytes: this.shares * LANE_BYTES };
    return { form: 'sums', bytes: amounts.length * Counters.BYTES };
  }

  #opened(): MetricMemory {
    return (this.#memory ??= new MetricMemory(
      this.options.zones.open(ZONE, SIZE + MOST * this.shares * LANE_BYTES, 'metrics'),
      this.shares,
    ));
  }
}

function addTo(counters: Counters, amounts: readonly number[]): void {
  for (const [at, amount] of amounts.entries()) if (amount > 0) counters.add(at, amount);
}

function added({ identity, amounts }: Amounts, other: Amounts | undefined): Amounts {
  return other === undefined
    ? { identity, amounts }
    : { identity, amounts: amounts.map((amount, at) => amount + (other.amounts[at] ?? 0)) };
}

function valueOf({ identity: { kind, name, labels, bounds }, amounts }: Amounts): MetricValue {
  if (kind === 'histogram') return { kind, name, labels, value: histogramOf(bounds, amounts) };
  return { kind, name, labels, value: amounts[0] ?? 0 };
}
