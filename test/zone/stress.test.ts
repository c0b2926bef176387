import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import test from 'ava';
import { Counters } from '../../core/zone/counters.js';
import { HashTable } from '../../core/zone/hash-table.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';
import { assertSound } from './sound.js';
import type { StressData, StressResult } from './stress-thread.js';

const THREADS = 4;

function stage() {
  const zone = Zone.create('stress', 256 * 1024);
  const counters = new SharedArrayBuffer(2 * Counters.BYTES);
  const start = (thread: number, task: StressData['task'], steps: number): Worker =>
    new Worker(new URL('./stress-thread.js', import.meta.url), {
      workerData: { zone: zone.buffer as SharedArrayBuffer, counters, thread, task, steps } satisfies StressData,
    });
  return { zone, counters, start };
}

/** Everything in the zone fits together. */
function faultsIn(zone: Zone): string[] {
  const table = HashTable.open(zone, 'keys', { entries: 64 });
  zone.enter();
  try {
    table?.check();
    assertSound(zone);
    return [...(table?.faults() ?? ['no table'])];
  } finally {
    zone.leave();
  }
}

test.serial('threads that work at once lose nothing: counters, table and slab are exact', async (t) => {
  const { zone, counters, start } = stage();
  const workers = Array.from({ length: THREADS }, (_, index) => start(index + 1, 'work', 40_000));
  const results = await Promise.all(
    workers.map(async (worker) => {
      await once(worker, 'message');
      const [answer] = await Promise.all([once(worker, 'message') as Promise<[StressResult]>, once(worker, 'exit')]);
      return answer[0];
    }),
  );
  t.deepEqual(
    results.flatMap(({ faults }) => faults),
    [],
  );
  t.is(
    new Counters(counters, 0, 2).read(0),
    results.reduce((sum, { added }) => sum + added, 0),
  );
  t.deepEqual(faultsIn(zone), []);
  const table = HashTable.open(zone, 'keys', { entries: 64 });
  zone.enter();
  while (table?.evict() === true);
  const blocks = [...zone.slab.blocks()].filter(({ free }) => !free);
  zone.leave();
  t.is(blocks.length, 3, 'the head of the table, its buckets and its name are all that is left');
});

test.serial('a lock whose holder died is freed, and others go on', async (t) => {
  const { zone, start } = stage();
  const holder = start(1, 'hold', 0);
  const { threadId } = holder;
  await once(holder, 'message');
  const waiting = start(2, 'work', 100);
  await once(waiting, 'message');
  await holder.terminate();
  const done = once(waiting, 'message');
  t.false(zone.releaseOf(threadId + 1000));
  t.true(zone.releaseOf(threadId));
  const [result] = (await done) as [StressResult];
  t.deepEqual(result.faults, []);
  t.is(zone.epoch, 1);
  t.deepEqual(faultsIn(zone), []);
});

test.serial('threads that die anywhere leave a zone that can be used', async (t) => {
  const { zone, start } = stage();
  const random = new Random(7);
  let found = 0;
  for (let round = 0; round < 12; round++) {
    const workers = [start(1, 'work', 1e9), start(2, 'work', 1e9)];
    const ids = workers.map(({ threadId }) => threadId);
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    await new Promise((resolve) => setTimeout(resolve, 5 + random.below(20)));
    for (const [index, worker] of workers.entries()) {
      await worker.terminate();
      if (zone.releaseOf(ids[index]!)) found++;
    }
    t.deepEqual(faultsIn(zone), [], `round ${round}`);
  }
  t.log(`${found} of 24 died with the lock`);
  // One repair serves two deaths, if the second thread died before it began.
  t.true(zone.epoch <= found);
});
