import test from 'ava';
import { TestNode } from './nodes.js';

const shop = (lines: string): string => `http { upstream shop { zone shop 1m; ${lines} } }`;

/** Requests one after the other, each of which takes what `times` says of its member: header and whole response, in milliseconds. */
function send(node: TestNode, count: number, times: Readonly<Record<string, readonly [header: number, whole: number]>>): number[] {
  const shares = Object.keys(times).map(() => 0);
  for (let sent = 0; sent < count; sent++) {
    const upstream = node.upstream('shop', sent % node.workers.length);
    const peer = upstream.pick()!;
    const name = peer.server.replace(':80', '');
    const [header, whole] = times[name]!;
    node.clock.now += whole;
    upstream.answered(peer, 200, header);
    upstream.finished(peer, 1, 1, whole);
    upstream.free(peer, false);
    shares[Object.keys(times).indexOf(name)]!++;
  }
  return shares;
}

const THREE = 'server 10.0.0.1; server 10.0.0.2; server 10.0.0.3;';
const slowAndFast = { '10.0.0.1': [50, 60], '10.0.0.2': [10, 200], '10.0.0.3': [70, 90] } as const;

test('least_time: by the header and by the last byte another one is the fastest, in all workers', async (t) => {
  for (const [method, fastest] of [
    ['header', 1],
    ['last_byte', 0],
    ['last_byte inflight', 0],
  ] as const) {
    const node = new TestNode({ workers: 3 });
    await node.load(shop(`least_time ${method}; ${THREE}`));
    const shares = send(node, 640, slowAndFast);
    t.true(shares[fastest]! > 620, `${method}: ${shares.join(' ')}`);
  }
});

test('least_time: of equally fast members in turn, by weight; a slow one with more weight may win', async (t) => {
  const node = new TestNode({ workers: 1 });
  await node.load(shop('least_time header; server 10.0.0.1 weight=3; server 10.0.0.2;'));
  const upstream = node.upstream('shop');
  const busy = Array.from({ length: 40 }, () => upstream.pick()!.server);
  t.is(busy.filter((server) => server === '10.0.0.1:80').length, 30);
  const weighted = new TestNode({ workers: 1 });
  await weighted.load(shop('least_time header; server 10.0.0.1 weight=4; server 10.0.0.2;'));
  const shares = send(weighted, 640, { '10.0.0.1': [30, 30], '10.0.0.2': [10, 10] });
  t.true(shares[0]! > 620, shares.join(' '));
});

test('least_time: requests at the same time are shared by speed', async (t) => {
  const node = new TestNode({ workers: 1 });
  await node.load(shop('least_time header; server 10.0.0.1; server 10.0.0.2;'));
  send(node, 300, { '10.0.0.1': [10, 10], '10.0.0.2': [30, 30] });
  const upstream = node.upstream('shop');
  for (let at = 0; at < 40; at++) upstream.pick();
  const [fast, slow] = [...upstream.peers].map(({ active }) => active);
  t.true(fast! >= 29 && fast! <= 31 && slow! >= 9 && slow! <= 11, `${fast} and ${slow}`);
});

test('least_time: a slow member that has become fast is noticed', async (t) => {
  const node = new TestNode({ workers: 1 });
  await node.load(shop(`least_time header; server 10.0.0.1; server 10.0.0.2;`));
  send(node, 200, { '10.0.0.1': [20, 20], '10.0.0.2': [500, 500] });
  send(node, 5000, { '10.0.0.1': [20, 20], '10.0.0.2': [2, 2] });
  const [, now] = send(node, 640, { '10.0.0.1': [20, 20], '10.0.0.2': [2, 2] });
  t.true(now! > 620, String(now));
});

/** Requests on a fast member that hangs from now on, of 60 that come within 6 s. */
async function hangingWith(method: string): Promise<number> {
  const node = new TestNode({ workers: 1 });
  await node.load(shop(`${method}; server 10.0.0.1; server 10.0.0.2;`));
  send(node, 200, { '10.0.0.1': [10, 10], '10.0.0.2': [100, 100] });
  const upstream = node.upstream('shop');
  let hanging = 0;
  for (let at = 0; at < 60; at++) {
    node.clock.now += 100;
    const peer = upstream.pick()!;
    if (peer.server === '10.0.0.1:80') hanging++;
    else {
      upstream.answered(peer, 200, 100);
      upstream.finished(peer, 1, 1, 100);
      upstream.free(peer, false);
    }
  }
  return hanging;
}

test('least_time inflight: a fast member that hangs gets fewer requests before one of them is over', async (t) => {
  const [without, within] = [await hangingWith('least_time header'), await hangingWith('least_time header inflight')];
  t.true(without >= 9 && within <= 3, `${without} and ${within} requests hang`);
});

test('least_time: backup members only when no other is left; the method comes and goes with the members it finds', async (t) => {
  const node = new TestNode({ workers: 2 });
  await node.load(shop('server 10.0.0.1; server 10.0.0.2 backup;'));
  const line = await node.add('shop', 'least_time last_byte;');
  t.is(send(node, 100, { '10.0.0.1': [9, 9], '10.0.0.2': [1, 1] })[0], 100);
  await node.replace(node.idOf('server', '10.0.0.1'), 'server 10.0.0.1 down;');
  t.is(node.upstream('shop', 1).pick()?.server, '10.0.0.2:80');
  await node.remove(line);
  await node.replace(node.idOf('server', '10.0.0.1'), 'server 10.0.0.1;');
  t.is(send(node, 10, { '10.0.0.1': [9, 9], '10.0.0.2': [1, 1] })[0], 10);
});
