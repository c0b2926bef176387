import test from 'ava';
import { ZoneHolds } from '../../core/zone/holds.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';

const WORKERS = 3;

function stage(size = 1 << 20) {
  const zone = Zone.create('z', size);
  return { zone, workers: Array.from({ length: WORKERS }, (_, worker) => ZoneHolds.open(zone, worker, WORKERS)!) };
}

test('the limit holds for all workers together', (t) => {
  const { workers } = stage();
  const [first, second] = workers as [ZoneHolds, ZoneHolds];
  t.is(first.acquire('k', 2), 'held');
  t.is(second.acquire('k', 2), 'held');
  t.is(first.acquire('k', 2), 'rejected');
  t.is(first.acquire('k', 3), 'held');
  first.release('k');
  first.release('k');
  t.is(second.count('k'), 1);
  first.release('k');
  t.is(second.count('k'), 1, 'nobody releases what another one holds');
  second.release('k');
  t.is(first.size, 0);
});

test('a full zone says so', (t) => {
  const { workers } = stage(32768);
  let keys = 0;
  while (workers[0]!.acquire(String(keys), 1) === 'held') keys++;
  t.is(workers[0]!.acquire('more', 1), 'full');
  t.is(workers[1]!.acquire('0', 2), 'held');
});

test('a loop that waits for a key without room leaves the thread to others', async (t) => {
  const { workers } = stage(32768);
  const [holds] = workers as [ZoneHolds, ...ZoneHolds[]];
  for (let key = 0; holds.acquire(String(key), 1) === 'held'; key++);
  // Only the event loop aborts it.
  const signal = AbortSignal.timeout(1);
  while (!signal.aborted && holds.acquire('more', 1) === 'full') await holds.whenBelow('more', 1, 1000);
  t.true(signal.aborted);
});

test('they count as a plain model does, also when workers die', (t) => {
  const { zone, workers } = stage();
  const random = new Random(3);
  const model = Array.from({ length: WORKERS }, () => new Map<string, number>());
  const held = (key: string): number => model.reduce((sum, counts) => sum + (counts.get(key) ?? 0), 0);
  for (let step = 0; step < 20_000; step++) {
    const worker = random.below(WORKERS);
    const counts = model[worker]!;
    const key = `key ${random.below(50)}`;
    if (random.below(2000) === 0) {
      ZoneHolds.find(zone, WORKERS)?.dropWorker(worker);
      counts.clear();
    } else if (random.below(2) === 0) {
      const limit = 1 + random.below(6);
      t.is(workers[worker]!.acquire(key, limit), held(key) < limit ? 'held' : 'rejected');
      if (held(key) < limit) counts.set(key, (counts.get(key) ?? 0) + 1);
    } else {
      workers[worker]!.release(key);
      counts.set(key, Math.max((counts.get(key) ?? 0) - 1, 0));
    }
  }
  for (let key = 0; key < 50; key++) t.is(workers[0]!.count(`key ${key}`), held(`key ${key}`));
});

test('who waits goes on when another worker releases, or dies', async (t) => {
  // A thread without anything else to do ends while it waits.
  const alive = setInterval(() => undefined, 1000);
  t.teardown(() => clearInterval(alive));
  const { workers } = stage();
  const [first, second, third] = workers as [ZoneHolds, ZoneHolds, ZoneHolds];
  t.true(await first.whenBelow('k', 1, 0), 'nothing is held');
  first.acquire('k', 2);
  second.acquire('k', 2);
  t.false(await third.whenBelow('k', 2, 20));
  const two = third.whenBelow('k', 2, 60_000);
  const one = third.whenBelow('k', 1, 60_000);
  first.release('k');
  t.true(await two);
  second.dropWorker(1);
  t.true(await one);
  second.acquire('k', 1);
  const ending = new AbortController();
  const cancelled = third.whenBelow('k', 1, 60_000, ending.signal);
  ending.abort();
  t.false(await cancelled);
});

test('a zone of one thread is waited for as well', async (t) => {
  const holds = ZoneHolds.open(Zone.create('z', 1 << 16, { shared: false }), 0, 1)!;
  holds.acquire('k', 1);
  const below = holds.whenBelow('k', 1, 60_000);
  holds.release('k');
  t.true(await below);
});
