import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import type { Upstream } from '../../core/upstream/upstream.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from '../zone/random.js';
import { assertSound } from '../zone/sound.js';
import { upstreamOf, member } from './upstreams.js';
import type { StressData } from './stress-thread.js';

const MEMBERS = 12;

function stage(settings: Parameters<typeof member>[1] = {}, order: 'turns' | 'load' = 'turns') {
  const zone = Zone.create('g', 64 * 1024);
  const list = Array.from({ length: MEMBERS }, (_, index) => member(index + 1, { weight: (index % 3) + 1, ...settings }));
  const { upstream, clock } = upstreamOf(list, { zone, worker: -1 });
  upstream.updates.prepareMethod({ module: 'test', lines: [], order }).commit();
  const start = (worker: number, requests: number, failing = 0): Worker =>
    new Worker(new URL('./stress-thread.js', import.meta.url), {
      workerData: { zone: zone.buffer as SharedArrayBuffer, members: MEMBERS, worker, requests, failing } satisfies StressData,
    });
  return { zone, upstream, clock, start };
}

/** Figures of all members, read by the master. */
function figures(upstream: Upstream) {
  const { memory } = upstream;
  memory.enter(0);
  const all = Array.from(upstream.peers, (peer) => memory.tally.read(peer.offset, 0));
  memory.leave();
  return all;
}

test.serial('workers count exactly and share one sequence', async (t) => {
  const { zone, upstream, start } = stage();
  const results = await Promise.all(
    [0, 1, 2].map(async (worker) => {
      const thread = start(worker, 40_000);
      await once(thread, 'message');
      const [answer] = await Promise.all([once(thread, 'message') as Promise<[number[]]>, once(thread, 'exit')]);
      return answer[0];
    }),
  );
  const sums = Array.from({ length: MEMBERS }, (_, index) => results.reduce((sum, counts) => sum + counts[index]!, 0));
  const all = figures(upstream);
  t.deepEqual(
    all.map(({ requests }) => requests),
    sums,
  );
  t.true(
    all.every(({ active, requests, responses, codes, sent, received }) => {
      const answers = responses[2]! + responses[4]!;
      return (
        active === 0 &&
        answers === requests &&
        codes[200] === responses[2] &&
        codes[404] === responses[4] &&
        sent === requests * 100 &&
        received === requests * 1000
      );
    }),
  );
  // One sequence for all: each member has its share to the request.
  const share = 120_000 / 24;
  t.deepEqual(
    sums,
    Array.from({ length: MEMBERS }, (_, index) => share * ((index % 3) + 1)),
  );
  t.notThrows(() => assertSound(zone));
});

test.serial('workers share one order by load', async (t) => {
  const { zone, upstream, start } = stage({}, 'load');
  const results = await Promise.all(
    [0, 1, 2].map(async (worker) => {
      const thread = start(worker, 20_000);
      await once(thread, 'message');
      const [answer] = await Promise.all([once(thread, 'message') as Promise<[number[]]>, once(thread, 'exit')]);
      return answer[0];
    }),
  );
  const all = figures(upstream);
  t.deepEqual(
    all.map(({ requests }) => requests),
    Array.from({ length: MEMBERS }, (_, index) => results.reduce((sum, counts) => sum + counts[index]!, 0)),
  );
  t.true(all.every(({ active }) => active === 0));
  t.notThrows(() => assertSound(zone));
});

for (const order of ['turns', 'load'] as const)
  test.serial(`workers that die anywhere leave no request behind, and all members in the game: ${order}`, async (t) => {
    const { zone, upstream, clock, start } = stage({ maxConns: 4, maxFails: 2, failTimeout: 3 }, order);
    const random = new Random(3);
    let broken = 0;
    for (let round = 0; round < 12; round++) {
      const workers = [start(0, 1e9, 4), start(1, 1e9, 4)];
      const ids = workers.map(({ threadId }) => threadId);
      await Promise.all(workers.map((worker) => once(worker, 'message')));
      await new Promise((resolve) => setTimeout(resolve, 5 + random.below(20)));
      for (const [index, worker] of workers.entries()) {
        await worker.terminate();
        if (zone.releaseOf(ids[index]!)) broken++;
        upstream.dropWorker(index);
      }
      t.deepEqual([...new Set(figures(upstream).map(({ active }) => active))], [0], `round ${round}`);
      t.notThrows(() => assertSound(zone));
    }
    t.log(`${broken} of 24 died with the lock`);
    // Long after all failures, everyone gets requests again.
    clock.now += 1e12;
    const chosen = new Set<number>();
    for (let request = 0; request < 200; request++) {
      const peer = upstream.pick();
      if (!peer) continue;
      chosen.add(peer.id);
      upstream.free(peer, false);
    }
    t.is(chosen.size, MEMBERS);
  });
