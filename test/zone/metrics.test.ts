import test from 'ava';
import type { Resource } from '../../core/contract/resource.js';
import { ZoneMetrics } from '../../core/zone/metrics.js';
import { ZoneSet } from '../../core/zone/zone-set.js';

function stage(workers = 2) {
  const zones = new ZoneSet('create');
  const full: string[] = [];
  const options = { workers, onFull: (name: string) => void full.push(name) };
  const master = new ZoneMetrics({ ...options, zones, worker: -1 });
  master.open();
  const threads = Array.from({ length: workers }, (_, worker) => {
    const own = new ZoneSet('adopt');
    own.adopt(zones.shares());
    return new ZoneMetrics({ ...options, zones: own, worker });
  });
  return { zones, master, threads, full };
}

test('a counter is one number for all threads', (t) => {
  const { master, threads } = stage();
  for (const [index, thread] of threads.entries()) {
    thread.counter('hits_total').add();
    thread.counter('hits_total', { zone: 'a' }).add(2 ** 40 + index);
  }
  t.is(master.counter('hits_total').value, 2);
  t.is(master.counter('hits_total', { zone: 'a' }).value, 2 ** 41 + 1);
});

test('a gauge is the sum of what the threads say, and ends with a worker that dies', (t) => {
  const { master, threads } = stage();
  const [one, two] = threads.map((thread) => thread.gauge('busy')) as [ReturnType<ZoneMetrics['gauge']>, ReturnType<ZoneMetrics['gauge']>];
  one.add(5);
  one.add(-2);
  two.set(10);
  master.gauge('busy').set(100);
  t.is(two.value, 113);
  master.dropWorker(0);
  t.is(one.value, 110);
});

test('a histogram counts values by their range', (t) => {
  const { master, threads } = stage();
  for (const thread of threads) for (const value of [0, 1, 5, 10, 11, 1000]) thread.histogram('time', [1, 10, 100]).observe(value);
  t.deepEqual(master.histogram('time', [1, 10, 100]).value, {
    count: 12,
    sum: 2 * 1027,
    buckets: [
      { bound: 1, count: 4 },
      { bound: 10, count: 8 },
      { bound: 100, count: 10 },
    ],
  });
});

test('all of them are listed, by name', (t) => {
  const { master, threads } = stage();
  threads[0]!.counter('b_total', { y: '2', x: '1' }).add(3);
  threads[1]!.counter('b_total', { x: '1', y: '2' }).add(4);
  threads[1]!.gauge('a').set(1);
  t.deepEqual(master.read(), [
    { kind: 'gauge', name: 'a', labels: {}, value: 1 },
    { kind: 'counter', name: 'b_total', labels: { x: '1', y: '2' }, value: 7 },
  ]);
});

test('names are those of Prometheus', (t) => {
  const { master } = stage();
  t.throws(() => master.counter('no name'), { message: 'invalid name of a metric: "no name"' });
});

test('what finds no room counts in its own thread, and the others go on', (t) => {
  const { threads, full } = stage();
  const [one] = threads as [ZoneMetrics];
  let made = 0;
  while (full.length === 0) one.counter(`metric_${made++}`).add();
  t.true(made > 5000, `${made}`);
  const last = one.counter('last');
  last.add(3);
  t.is(last.value, 3);
  t.is(threads[1]!.counter('metric_0').value, 1);
});

test('what is not a number, or less than none, is rejected', (t) => {
  const { master } = stage();
  const counter = master.counter('c_total');
  for (const amount of [NaN, -1, 0.5, Infinity]) t.throws(() => counter.add(amount), { instanceOf: RangeError });
  t.throws(() => master.gauge('g').add(NaN), { instanceOf: RangeError });
  t.throws(() => master.gauge('g').set(Infinity), { instanceOf: RangeError });
  t.throws(() => master.histogram('h', [1]).observe(NaN), { instanceOf: RangeError });
  t.is(counter.value, 0);
});

/** A scope that ends when the test says so. */
function scope() {
  const resources: Resource[] = [];
  return {
    register: (resource: Resource) => void resources.push(resource),
    end: async () => {
      for (const resource of resources) resource.release?.();
      await Promise.resolve();
    },
  };
}

test('ten generations of 200 zones leave the figures of 200', async (t) => {
  const { master, threads, full } = stage();
  const all = [master, ...threads];
  for (let generation = 0; generation < 10; generation++) {
    const [one, names] = [scope(), Array.from({ length: 200 }, (_, at) => `zone ${generation} ${at}`)];
    for (const name of names) {
      for (const thread of all) {
        const group = thread.group(name, one);
        for (const code of ['200', '404', '500', '502']) group.counter('responses_total', { zone: name, code }).add();
        group.gauge('busy', { zone: name }).set(1);
      }
    }
    t.is(master.read().length, 200 * 5);
    t.true(master.read().every(({ value }) => value === all.length));
    if (generation < 9) await one.end();
  }
  t.deepEqual(full, []);
});

test('a group lasts as long as one thread holds it, and a scope that follows takes over its figures', async (t) => {
  const { master, threads } = stage();
  const [one] = threads as [ZoneMetrics];
  const [first, second, worker] = [scope(), scope(), scope()];
  master.group('a', first).counter('hits_total').add(1);
  one.group('a', worker).counter('hits_total').add(2);
  master.group('a', second).counter('hits_total').add(3);
  await first.end();
  t.is(master.read()[0]?.value, 6);
  await second.end();
  t.is(master.read()[0]?.value, 6, 'a worker has requests under it');
  await worker.end();
  t.deepEqual(master.read(), []);
  t.is(master.group('a', scope()).counter('hits_total').value, 0);
});

test('what is counted in a group that has ended is lost, and goes to nobody else', async (t) => {
  const { master } = stage();
  const old = scope();
  const late = master.group('a', old).counter('hits_total');
  late.add();
  await old.end();
  const fresh = master.group('b', scope()).counter('hits_total');
  late.add(5);
  t.is(fresh.value, 0);
});

test('a thread that leaves a group takes its share of gauges with it; one that dies releases its groups', async (t) => {
  const { master, threads } = stage();
  const [one, two] = threads as [ZoneMetrics, ZoneMetrics];
  const [mine, other] = [scope(), scope()];
  one.group('a', mine).gauge('busy').set(3);
  two.group('a', other).gauge('busy').set(4);
  await mine.end();
  t.is(master.read()[0]?.value, 4);
  master.dropWorker(1);
  t.deepEqual(master.read(), []);
});

test('metrics of two groups with one name are read as their sum', (t) => {
  const { master } = stage();
  for (const name of ['a', 'b']) {
    master.group(name, scope()).counter('hits_total').add(2);
    master.group(name, scope()).histogram('time', [1]).observe(1);
  }
  t.deepEqual(
    master.read().map(({ value }) => value),
    [4, { count: 2, sum: 2, buckets: [{ bound: 1, count: 2 }] }],
  );
});
