import test, { type ExecutionContext } from 'ava';
import { ZoneHolds } from '../../core/zone/holds.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { Zone } from '../../core/zone/zone.js';
import { findOrHold, once } from '../../core/toolkit/find-or-hold.js';
import { Random } from './random.js';

const WORKERS = 3;

function stage(size = 1 << 20) {
  const zone = Zone.create('z', size);
  return { zone, workers: Array.from({ length: WORKERS }, (_, worker) => ZoneHolds.open(zone, worker, WORKERS)!) };
}

/** A thread without anything else to do ends while it waits. */
function keepAlive(t: ExecutionContext): void {
  const alive = setInterval(() => undefined, 1000);
  t.teardown(() => clearInterval(alive));
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

test('a full zone is waited for as a key that others hold', async (t) => {
  keepAlive(t);
  const { workers } = stage(32768);
  const [first, second] = workers as [ZoneHolds, ZoneHolds];
  const keys: string[] = [];
  while (first.acquire(String(keys.length), 1) === 'held') keys.push(String(keys.length));
  t.false(await second.whenBelow('more', 1, 20), 'there is no room for the key');
  const room = second.whenBelow('more', 1, 60_000);
  first.release(keys[0]!);
  t.true(await room);
  t.is(second.acquire('more', 1), 'held');
});

/** Holds what fits into a zone that is full of records. */
function heldBeside(evict: boolean) {
  const { zone, workers } = stage(65_536);
  const dropped: string[] = [];
  const records = ZoneRecords.open(zone, { fields: ['n'], evict, evicted: (key) => dropped.push(key) }, { now: 1 })!;
  for (let key = 0; key < 2000; key++) records.add(`record ${key}`, 'n', 1);
  const before = dropped.length;
  let held = 0;
  while (held < 10 && workers[0]!.acquire(`key ${held}`, 1) === 'held') held++;
  return { held, dropped: dropped.slice(before), records };
}

test('records that may be dropped make room for holds, and others do not', (t) => {
  const { held, dropped, records } = heldBeside(true);
  t.is(held, 10);
  t.true(dropped.length > 0, 'their owner is notified');
  t.true(dropped.every((key) => records.get(key) === undefined));
  t.is(heldBeside(false).held, 0);
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
  keepAlive(t);
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

test('one of many does the work for all, in all workers', async (t) => {
  keepAlive(t);
  const { workers } = stage();
  const made = new Map<string, string>();
  let works = 0;
  const work = async () => {
    works++;
    await new Promise((resolve) => setTimeout(resolve, 20));
    made.set('k', 'made');
    return 'made';
  };
  const ask = (worker: ZoneHolds) => once(worker, 'k', () => made.get('k'), work, { ms: 60_000 });
  t.deepEqual(
    await Promise.all([...workers, ...workers].map(ask)),
    Array.from({ length: 6 }, () => 'made'),
  );
  t.is(works, 1);
  t.is(workers[0]!.size, 0);

  const failing = once(
    workers[0]!,
    'k',
    () => undefined,
    () => Promise.reject(new Error('no')),
    { ms: 60_000 },
  );
  await t.throwsAsync(failing, { message: 'no' });
  t.is(workers[0]!.size, 0, 'the key is released');
});

test('who waits for the work of another gives up after its time, also where the zone is full', async (t) => {
  keepAlive(t);
  const { workers } = stage(32_768);
  const [first, second] = workers as [ZoneHolds, ZoneHolds];
  const turn = await findOrHold(first, 'k', () => undefined, { ms: 60_000 });
  t.is(await findOrHold(second, 'k', () => undefined, { ms: 20 }), undefined);
  turn?.release?.();
  turn?.release?.();
  t.is(first.count('k'), 0);
  while (first.acquire(String(first.size), 1) === 'held');
  t.is(await findOrHold(second, 'k', () => undefined, { ms: 20 }), undefined);
});
