import test from 'ava';
import { ConfigError, ConfigErrors } from '../../core/config/errors.js';
import { Choice } from '../../core/upstream/choice.js';
import type { Upstream } from '../../core/upstream/upstream.js';
import { fakeRequest } from '../../testing/request.js';
import { TestNode } from './nodes.js';

const shop = (lines: string): string => `http { upstream shop { zone shop 1m; ${lines} } }`;
const servers = (count: number): string =>
  Array.from({ length: count }, (_, at) => `server 10.0.${at >>> 8}.${at & 255} weight=${(at % 3) + 1};`).join(' ');

/** The member for a key. */
function memberFor(upstream: Upstream, key: string): string {
  const peer = upstream.pick(new Choice(fakeRequest({ uri: key })));
  if (peer !== undefined) upstream.free(peer, false);
  return peer?.server ?? 'none';
}

const keys = Array.from({ length: 300 }, (_, at) => `/key${at}`);
const mapping = (upstream: Upstream): string[] => keys.map((key) => memberFor(upstream, key));

test('hash: all workers choose alike, also one that came after changes', async (t) => {
  for (const method of ['hash $uri;', 'hash $uri consistent;']) {
    const node = new TestNode({ workers: 3 });
    await node.load(shop(`${method} ${servers(5)}`));
    await node.remove(node.idOf('server', '10.0.0.1'));
    await node.add('shop', 'server 10.9.9.9 weight=2;');
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2 weight=5;');
    await node.replace(node.idOf('server', '10.0.0.3'), 'server 10.0.0.33;');
    const first = mapping(node.upstream('shop', 0));
    t.deepEqual(mapping(node.upstream('shop', 1)), first);
    t.deepEqual(mapping(node.upstream('shop', await node.join())), first);
    t.is(new Set(first).size, 5, method);
  }
});

test('hash consistent: a member that comes or goes moves its share of the keys', async (t) => {
  const node = new TestNode();
  await node.load(shop(`hash $uri consistent; ${servers(9)}`));
  const before = mapping(node.upstream('shop'));
  await node.add('shop', 'server 10.9.9.9 weight=2;');
  const with10 = mapping(node.upstream('shop'));
  const moved = keys.filter((_, at) => with10[at] !== before[at]);
  t.true(moved.length > 10 && moved.length < 80, `${moved.length} of ${keys.length} moved`);
  t.true(moved.every((key) => memberFor(node.upstream('shop'), key) === '10.9.9.9:80'));
  await node.remove(node.idOf('server', '10.9.9.9'));
  t.deepEqual(mapping(node.upstream('shop')), before);
});

test('the method comes, changes and goes without a change of members', async (t) => {
  const node = new TestNode();
  await node.load(shop(servers(4)));
  const peers = [...node.upstream('shop').peers];
  const busy = node.upstream('shop').pick()!;
  const line = await node.add('shop', 'hash $uri;');
  t.is(new Set(Array.from({ length: 10 }, () => memberFor(node.upstream('shop'), '/same'))).size, 1);
  await node.remove(line);
  await node.add('shop', 'least_conn;');
  t.deepEqual([...node.upstream('shop').peers], peers);
  const chosen = Array.from({ length: 3 }, () => node.upstream('shop', 1).pick()!);
  t.false(chosen.includes(busy));
});

for (const method of ['hash $uri;', 'hash $uri consistent;', 'ip_hash;', 'random;', 'random two least_conn;']) {
  test(`${method} a backup member is an error, whenever it comes`, async (t) => {
    const message = 'balancing method does not support parameter "backup"';
    const node = new TestNode();
    const rejected = async (change: () => Promise<unknown>): Promise<void> => {
      const error = await t.throwsAsync(change, { instanceOf: Error });
      t.true(error instanceof ConfigError || error instanceof ConfigErrors);
      t.is(error?.message, message);
    };
    await rejected(() => node.load(shop(`${method} server 10.0.0.1; server 10.0.0.2 backup;`)));
    await node.load(shop(`${method} server 10.0.0.1;`));
    await rejected(() => node.add('shop', 'server 10.0.0.2 backup;'));
    await rejected(() => node.replace(node.idOf('server', '10.0.0.1'), 'server 10.0.0.1 backup;'));
    const other = new TestNode();
    await other.load(shop('server 10.0.0.1; server 10.0.0.2 backup;'));
    await rejected(() => other.add('shop', method));
    t.is(other.upstream('shop').size, 2);
  });
}

/** Nanoseconds of one choice with its end, in the fastest of some runs. */
async function cost(method: string, members: number): Promise<number> {
  const node = new TestNode({ workers: 1 });
  await node.load(shop(`${method} ${servers(members)}`).replace('1m', '16m'));
  const upstream = node.upstream('shop');
  const requests = keys.map((uri) => fakeRequest({ uri }));
  let best = Infinity;
  for (let run = 0; run < 5; run++) {
    const start = performance.now();
    for (let times = 0; times < 20; times++)
      for (const request of requests) upstream.free(upstream.pick(upstream.choiceFor(request))!, false);
    best = Math.min(best, performance.now() - start);
  }
  return (best * 1e6) / (20 * keys.length);
}

for (const method of [
  '',
  'least_conn;',
  'least_time last_byte inflight;',
  'hash $uri;',
  'hash $uri consistent;',
  'ip_hash;',
  'random;',
  'random two;',
]) {
  test.serial(`${method || 'round robin'} costs about the same among 3 members and among 10,000`, async (t) => {
    const [few, many] = [await cost(method, 3), await cost(method, 10_000)];
    t.log(`${few.toFixed(0)} and ${many.toFixed(0)} ns`);
    // Caches make a difference. Going through all of them would take 50 us at least.
    t.true(many < few * 20 + 25_000, `${few} and ${many} ns`);
  });
}
