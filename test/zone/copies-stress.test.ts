import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { ZoneCopies } from '../../core/zone/copies.js';
import { Zone } from '../../core/zone/zone.js';
import type { CopiesData, CopiesResult } from './copies-thread.js';
import { Random } from './random.js';

const BYTES = 262_144;
const NAMES = 500;

function stage(): { readonly zone: Zone; readonly start: (seed: number, steps: number) => Worker } {
  const zone = Zone.create('stress', ZoneCopies.zoneSize(BYTES));
  ZoneCopies.open(zone, BYTES);
  const [versions, dropped] = [numbers(), numbers()];
  const start = (seed: number, steps: number): Worker =>
    new Worker(new URL('./copies-thread.js', import.meta.url), {
      workerData: {
        zone: zone.buffer as SharedArrayBuffer,
        bytes: BYTES,
        seed,
        names: NAMES,
        steps,
        versions,
        dropped,
      } satisfies CopiesData,
    });
  return { zone, start };
}

const numbers = (): Int32Array => new Int32Array(new SharedArrayBuffer(NAMES * 4));

async function resultOf(thread: Worker): Promise<CopiesResult> {
  await once(thread, 'message');
  const [[result]] = await Promise.all([once(thread, 'message') as Promise<[CopiesResult]>, once(thread, 'exit')]);
  return result;
}

test.serial('threads that offer, find and drop copies at once get the bytes of the name, and none of before a change', async (t) => {
  const { start } = stage();
  const results = await Promise.all([1, 2, 3].map((seed) => resultOf(start(seed, 60_000))));
  for (const { hits, wrong } of results) {
    t.deepEqual(wrong, []);
    t.true(hits > 1000, `${hits}`);
  }
});

test.serial('threads that die anywhere leave no copy that has other bytes', async (t) => {
  const { zone, start } = stage();
  const random = new Random(5);
  let broken = 0;
  for (let round = 0; round < 6; round++) {
    const workers = [start(2 * round + 1, 1e9), start(2 * round + 2, 1e9)];
    const ids = workers.map(({ threadId }) => threadId);
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    await new Promise((resolve) => setTimeout(resolve, 5 + random.below(20)));
    for (const [index, worker] of workers.entries()) {
      await worker.terminate();
      if (zone.releaseOf(ids[index]!)) broken++;
    }
    const { hits, wrong } = await resultOf(start(100 + round, 5000));
    t.deepEqual(wrong, [], `round ${round}`);
    t.true(hits > 100, `${hits}`);
  }
  t.log(`${broken} of 12 died with the lock`);
});
