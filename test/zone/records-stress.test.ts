import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { ZoneHolds } from '../../core/zone/holds.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';
import type { RecordsData, RecordsResult } from './records-thread.js';
import { assertSound } from './sound.js';

const WORKERS = 3;
const KEYS = 8;
const LIMIT = 3;

function stage() {
  const zone = Zone.create('stress', 256 * 1024);
  const start = (worker: number, steps: number): Worker =>
    new Worker(new URL('./records-thread.js', import.meta.url), {
      workerData: {
        zone: zone.buffer as SharedArrayBuffer,
        worker,
        workers: WORKERS,
        keys: KEYS,
        limit: LIMIT,
        steps,
      } satisfies RecordsData,
    });
  const records = ZoneRecords.open(zone, { fields: ['sum', 'twice'], strings: { text: 24 } }, { now: 1 })!;
  const holds = ZoneHolds.open(zone, -1, WORKERS)!;
  return { zone, start, records, holds };
}

test.serial('threads that change records at once lose nothing, and no limit is exceeded', async (t) => {
  const { zone, start, records, holds } = stage();
  const results = await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      const thread = start(worker, 20_000);
      await once(thread, 'message');
      const [answer] = await Promise.all([once(thread, 'message') as Promise<[RecordsResult]>, once(thread, 'exit')]);
      return answer[0];
    }),
  );
  t.true(results.every(({ exceeded }) => !exceeded));
  for (let key = 0; key < KEYS; key++) {
    const sum = results.reduce((all, { added }) => all + added[key]!, 0);
    t.like(records.get(`key ${key}`), { sum, twice: sum * 2 });
  }
  t.is(holds.size, 0);
  t.notThrows(() => assertSound(zone));
});

test.serial('threads that die anywhere hold nothing any more, and the zone can be used', async (t) => {
  const { zone, start, records, holds } = stage();
  const random = new Random(11);
  let broken = 0;
  for (let round = 0; round < 12; round++) {
    const workers = [start(0, 1e9), start(1, 1e9)];
    const ids = workers.map(({ threadId }) => threadId);
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    await new Promise((resolve) => setTimeout(resolve, 5 + random.below(20)));
    for (const [index, worker] of workers.entries()) {
      await worker.terminate();
      if (zone.releaseOf(ids[index]!)) broken++;
      ZoneHolds.find(zone, WORKERS)?.dropWorker(index);
    }
    for (let key = 0; key < KEYS; key++) t.is(holds.count(`held ${key}`), 0, `round ${round}`);
    t.is(holds.size, 0, `round ${round}`);
    for (const [key, { sum, twice, text }] of records.entries())
      t.true(twice === sum * 2 && text.startsWith(sum === 0 ? '' : String(sum)), `round ${round}: ${key} ${sum} ${twice} "${text}"`);
    t.not(records.add('other', 'sum', 0), undefined);
    t.notThrows(() => assertSound(zone));
  }
  t.log(`${broken} of 24 died with the lock`);
});
