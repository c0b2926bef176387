/** Samples of rows for monitoring. */
import { Distribution } from '../../core/contract/distribution.js';
import type { DistributionSample, FigureFamily, Sample } from '../../core/contract/families.js';
import type { Labels } from '../../core/contract/metrics.js';
import type { NamedRow } from './collector.js';
import type { Exemplars } from './exemplars.js';
import { CLASSES, CODES, type RowKind } from './layout.js';

/** Kinds of rows with the same figures. */
export interface Group {
  readonly kinds: readonly RowKind[];
  /** Beginning of the names of its families. */
  readonly prefix: string;
  /** Completes "Requests, of": `a server`. */
  readonly of: string;
  readonly labels: (row: NamedRow) => Labels;
}

/** Makes families of single counters. */
export function counterFamilies(rows: readonly NamedRow[], group: Group) {
  return (name: string, help: string, counter: number, unit?: 'bytes'): FigureFamily => ({
    name: `${group.prefix}_${name}`,
    help: `${help}, of ${group.of}.`,
    ...(unit && { unit }),
    kind: 'counter',
    samples: counterSamples(rows, group, counter),
  });
}

/** @param exemplars of the rows; absent: they have none */
export function timeFamily(
  name: string,
  help: string,
  rows: readonly NamedRow[],
  group: Group,
  distribution: number,
  exemplars?: Pick<Exemplars, 'of'>,
): FigureFamily {
  const isNumerous = group.kinds.some((kind) => kind.endsWith('member'));
  return {
    name,
    help,
    unit: 'seconds',
    kind: 'distribution',
    isNumerous,
    samples: distributionSamples(rows, group, distribution, exemplars),
  };
}

export function* counterSamples(rows: readonly NamedRow[], { labels }: Group, counter: number): Generator<Sample> {
  for (const row of rows) yield { labels: labels(row), value: row.totals.counter(counter), createdAt: row.totals.createdAt };
}

export function* gaugeSamples(rows: readonly NamedRow[], { labels }: Group): Generator<Sample> {
  for (const row of rows) yield { labels: labels(row), value: row.totals.gauge(0) };
}

function* distributionSamples(
  rows: readonly NamedRow[],
  { labels }: Group,
  distribution: number,
  exemplars: Pick<Exemplars, 'of'> | undefined,
): Generator<DistributionSample> {
  // One for all: thousands of arrays outside of the heap bring a long collection of garbage.
  const value = new Distribution();
  for (const row of rows) {
    const { key, createdAt } = row.totals;
    const found = exemplars?.of(key);
    yield { labels: labels(row), value: row.totals.distribution(distribution, value), createdAt, ...(found && { exemplars: found }) };
  }
}

/** Samples of a list of counters beside each other. Zeros are left out. */
export function listed(
  rows: readonly NamedRow[],
  group: Group,
  first: number,
  label: string,
  names: readonly string[],
): { readonly kind: 'counter'; readonly samples: Iterable<Sample | undefined> } {
  return { kind: 'counter', samples: listSamples(rows, group, { first, label, names }) };
}

interface CounterList {
  readonly first: number;
  readonly label: string;
  readonly names: readonly string[];
}

function* listSamples(rows: readonly NamedRow[], { labels }: Group, { first, label, names }: CounterList): Generator<Sample | undefined> {
  const memory = new Float64Array(names.length);
  for (const row of rows) {
    if (row.totals.counter(0) === 0) {
      yield undefined;
      continue;
    }
    const counters = row.totals.counters(first, names.length, memory);
    const common = labels(row);
    for (const [at, name] of names.entries()) {
      const value = counters[at]!;
      if (value > 0) yield { labels: { ...common, [label]: name.toLowerCase() }, value, createdAt: row.totals.createdAt };
    }
  }
}

const STATUS_NAMES: readonly string[] = [...CODES.map(String), ...CLASSES];

export function* statusSamples(rows: readonly NamedRow[], group: Group, first: number): Generator<Sample | undefined> {
  yield* listSamples(rows, group, { first, label: 'code', names: STATUS_NAMES });
}
