import test from 'ava';
import type { Resource } from '../../core/contract/resource.js';
import { SharedFigures } from '../../core/zone/figures.js';
import { Zone } from '../../core/zone/zone.js';
import { assertSound } from './sound.js';

const SHAPE = { counters: 3, gauges: 1, distributions: 1 };
const WORKERS = 2;

function stage(size = 256 * 1024) {
  const clock = { now: 1000 };
  const zone = Zone.create('figures', size);
  const open = (worker: number): SharedFigures => SharedFigures.open(zone, worker, WORKERS, clock)!;
  return { zone, clock, master: open(-1), one: open(0), two: open(1), again: () => open(0) };
}

/** A scope of which the test says when it is over. */
function scope() {
  const resources: Resource[] = [];
  return { register: (resource: Resource) => void resources.push(resource), release: () => resources.forEach((one) => one.release?.()) };
}

const keys = (figures: SharedFigures): string[] => figures.totals().map(({ key }) => key);

test('a row has the sum of what all workers count', (t) => {
  const { master, one, two } = stage();
  const held = scope();
  for (const [index, figures] of [one, two].entries()) {
    const row = figures.held('server a', SHAPE, held);
    row.add(0, 1);
    row.add(2, 2 ** 40 + index);
    row.move(0, 3);
    row.observe(0, 10 + index);
  }
  one.row('member b', SHAPE)!.add(1, 7);
  const [server, member] = master.totals();
  t.deepEqual(
    [0, 1, 2].map((at) => server!.counter(at)),
    [2, 0, 2 ** 41 + 1],
  );
  t.is(server!.gauge(0), 6);
  t.is(server!.distribution(0).quantile(1), 11);
  t.is(server!.distribution(0).sum, 21);
  t.is(member!.counter(1), 7);
});

test('a dead worker leaves what it has counted, and its successor goes on', (t) => {
  const { zone, master, one, again } = stage();
  const row = one.held('a', SHAPE, scope());
  row.add(0, 5);
  row.move(0, 2);
  SharedFigures.dropWorker(zone, 0, WORKERS);
  t.is(master.totals()[0]!.gauge(0), 0);
  again().held('a', SHAPE, scope()).add(0, 1);
  t.is(master.totals()[0]!.counter(0), 6);
});

test('rows found by requests are kept when their workers die, until they are ended', (t) => {
  const { zone, master, one, again } = stage();
  one.row('a', SHAPE)!.add(0, 5);
  SharedFigures.dropWorker(zone, 0, WORKERS);
  t.false(master.totals()[0]!.hasEnded);
  master.sweep(master.totals());
  again().row('a', SHAPE)!.add(0, 1);
  t.is(master.totals()[0]!.counter(0), 6);
  SharedFigures.dropWorker(zone, 0, WORKERS);
  master.end(master.totals()[0]!);
  t.true(master.totals()[0]!.hasEnded);
  master.sweep(master.totals());
  t.deepEqual(keys(master), []);
});

test('a row that nothing holds is read until it is swept', (t) => {
  const { zone, master, one, two } = stage();
  const [first, second] = [scope(), scope()];
  one.held('a', SHAPE, first).add(0, 1);
  two.held('a', SHAPE, second).add(0, 2);
  const used = zone.slab.used;
  first.release();
  t.false(master.totals()[0]!.hasEnded);
  master.sweep(master.totals());
  t.is(master.totals()[0]!.counter(0), 3);
  second.release();
  t.true(master.totals()[0]!.hasEnded);
  t.is(master.totals()[0]!.counter(0), 3);
  master.sweep(master.totals());
  t.deepEqual(keys(master), []);
  t.true(zone.slab.used < used);
  t.notThrows(() => assertSound(zone));
});

test('a row in use again before it is swept goes on', (t) => {
  const { master, one } = stage();
  const first = scope();
  one.held('a', SHAPE, first).add(0, 1);
  const listed = master.totals();
  first.release();
  one.held('a', SHAPE, scope()).add(0, 1);
  master.sweep(listed);
  t.is(master.totals()[0]!.counter(0), 2);
});

test('a row found by requests ends when all workers have released it', (t) => {
  const { master, one, two } = stage();
  for (const figures of [one, two]) figures.row('m', SHAPE)!.add(0, 1);
  master.end(master.totals()[0]!);
  t.true(one.trim());
  t.false(one.trim());
  master.sweep(master.totals());
  t.deepEqual(keys(master), ['m']);
  two.trim();
  master.sweep(master.totals());
  t.deepEqual(keys(master), []);
  // In the memory of the former one.
  one.row('n', SHAPE)!.add(0, 1);
  t.is(master.totals()[0]!.counter(0), 1);
});

test('a reset counts from zero, and not what rises and falls', (t) => {
  const { master, one, clock } = stage();
  const row = one.row('a', SHAPE)!;
  row.add(0, 5);
  row.move(0, 1);
  row.observe(0, 100);
  clock.now = 5000;
  master.totals()[0]!.reset();
  const [totals] = master.totals();
  t.deepEqual([totals!.counter(0), totals!.gauge(0), totals!.distribution(0).count, totals!.distribution(0).sum], [0, 1, 0, 0]);
  t.is(totals!.createdAt, 5000);
  row.add(0, 1);
  totals!.reset();
  row.add(0, 2);
  t.is(totals!.counter(0), 2);
});

test('a full zone rejects rows, and says how many', (t) => {
  const { master, one } = stage(64 * 1024);
  let made = 0;
  while (made < 1000 && one.row(`row ${made}`, SHAPE) !== undefined) made++;
  t.true(made > 5 && made < 1000);
  t.is(master.rejected, 1);
  // Rows of the configuration still count, in memory that is not read.
  t.notThrows(() => one.held('b', SHAPE, scope()).add(0, 1));
});

test('many rows are listed in pieces, in their order', (t) => {
  const { master, one } = stage(16 * 1024 * 1024);
  const all = Array.from({ length: 5000 }, (_, index) => `row ${index}`);
  for (const key of all) one.row(key, SHAPE);
  for (let [before, now] = [-1, 0]; now > before;) {
    before = now;
    now = master.totals().length;
    t.true(now - before <= 1000);
  }
  t.deepEqual(keys(master), all);
});

test('rows with a limit are as many as it says, over all workers', (t) => {
  const { master, one, two } = stage(1024 * 1024);
  for (let index = 0; index < 3; index++) t.truthy(one.row(`a ${index}`, SHAPE, 4));
  t.truthy(two.row('b', SHAPE, 4));
  t.is(two.row('c', SHAPE, 4), undefined);
  // One that another worker has made.
  two.row('a 1', SHAPE, 4)!.add(0, 1);
  t.truthy(two.row('without a limit', SHAPE));
  t.is(master.limited, 4);
  const row = master.totals().find(({ key }) => key === 'b')!;
  master.end(row);
  two.trim();
  master.sweep(master.totals());
  t.is(master.limited, 3);
  t.truthy(one.row('c', SHAPE, 4));
  t.is(master.rejected, 0);
});
