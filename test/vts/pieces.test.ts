/** Work on many rows between two turns of the main thread, counted in cells of memory that are read. */
import test from 'ava';
import { BUCKETS, Distribution } from '../../core/contract/distribution.js';
import type { FigureTable, FigureTotals } from '../../core/contract/figures.js';
import { Collector } from '../../modules/vts/collector.js';
import { collectFamilies } from '../../modules/vts/families.js';
import { keyOf } from '../../modules/vts/layout.js';
import { Pages, type ShownRow } from '../../modules/vts/pages.js';
import { Rates } from '../../modules/vts/rates.js';

const SERVERS = 1000;
const MEMBERS = 10_000;
/** A few tenths of a millisecond. */
const MOST = 30_000;

/** Rows that count how many of their cells are read, and by how many calls, between two pauses. */
function stage(count: number) {
  let [cells, most, pauses] = [0, 0, 0];
  const read = (more: number): void => {
    cells += more;
    most = Math.max(most, cells);
  };
  const row = (key: string): FigureTotals => ({
    key,
    createdAt: 1,
    hasEnded: false,
    counter: () => (read(1), count),
    counters: (_, length) => (read(length), new Float64Array(length).fill(count)),
    gauge: () => (read(1), 0),
    distribution: () => (read(BUCKETS), new Distribution()),
    reset: () => undefined,
  });
  const rows = [
    ...Array.from({ length: MEMBERS }, (_, at) => row(keyOf('member', `up${at % 3}`, `10.0.0.1:${MEMBERS - at}`))),
    ...Array.from({ length: SERVERS }, (_, at) => row(keyOf('server', `name${at}`))),
  ];
  const table = {
    totals: () => rows,
    limited: 0,
    rejected: 0,
    endings: 0,
    memory: { size: 0, used: 0 },
    sweep: () => undefined,
  } as unknown as FigureTable;
  const upstreams = { get: () => undefined };
  const tables = { all: [table], forget: () => undefined };
  const collector = new Collector(tables as never, { http: upstreams, stream: upstreams, addresses: () => new Set() }, () => undefined);
  const pause = (): Promise<void> => {
    pauses++;
    cells = 0;
    return Promise.resolve();
  };
  return { collector, pause, result: () => ({ most, pauses }) };
}

test('pages of many rows are sorted, whole, and made in pieces', async (t) => {
  const { collector, pause, result } = stage(1);
  const pages = new Pages(collector, new Rates(), pause);
  const rows: ShownRow[] = [];
  for (let page = await pages.page({}); page !== undefined; page = page.next === undefined ? undefined : await pages.page(page)) {
    rows.push(...page.rows);
    await pause();
  }
  const names = rows.map(({ section, name, part = '' }) => `${section} ${name} ${part}`);
  t.is(new Set(names).size, SERVERS + MEMBERS);
  t.deepEqual(names, names.toSorted());
  const { most, pauses } = result();
  t.true(most <= MOST, `${most} cells`);
  t.true(pauses >= (SERVERS + MEMBERS) / 20);
});

test('rates of many rows are measured in pieces', async (t) => {
  const { collector, pause, result } = stage(1);
  await collector.list(pause);
  await new Rates().sample(collector.rows, 1, pause);
  t.true(result().most <= MOST, `${result().most} cells`);
});

for (const count of [0, 1]) {
  test(`families can be read in pieces of 300 samples, and of 20 distributions: rows that have counted ${count}`, async (t) => {
    const { collector, pause, result } = stage(count);
    let samples = 0;
    for (const { kind, samples: all } of collectFamilies(collector, { of: () => undefined }).families)
      for (const _ of all) if (++samples % (kind === 'distribution' ? 20 : 300) === 0) await pause();
    t.true(samples > 3 * MEMBERS);
    t.true(result().most <= MOST, `${result().most} cells`);
  });
}
