import test from 'ava';
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

test('what is no number, or less than none, is refused', (t) => {
  const { master } = stage();
  const counter = master.counter('c_total');
  for (const amount of [NaN, -1, 0.5, Infinity]) t.throws(() => counter.add(amount), { instanceOf: RangeError });
  t.throws(() => master.gauge('g').add(NaN), { instanceOf: RangeError });
  t.throws(() => master.gauge('g').set(Infinity), { instanceOf: RangeError });
  t.throws(() => master.histogram('h', [1]).observe(NaN), { instanceOf: RangeError });
  t.is(counter.value, 0);
});
