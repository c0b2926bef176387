/** Every method against a plain model of it, which goes through all members. */
import { crc32 } from 'node:zlib';
import test from 'ava';
import * as fc from 'fast-check';
import { Choice } from '../../core/upstream/choice.js';
import type { Peer } from '../../core/upstream/peer.js';
import type { Upstream } from '../../core/upstream/upstream.js';
import { fakeRequest } from '../../testing/request.js';
import { TestNode } from './nodes.js';

const shop = (lines: string): string => `http { upstream shop { zone shop 1m; ${lines} } }`;

/** A `server` line. */
interface Line {
  readonly address: string;
  readonly weight: number;
  readonly down: boolean;
}

const textOf = ({ address, weight, down }: Line): string => `server ${address} weight=${weight}${down ? ' down' : ''};`;

const someLines = fc.uniqueArray(
  fc.record({
    address: fc.tuple(fc.nat(3), fc.nat(255)).map(([third, last]) => `10.0.${third}.${last}:80`),
    weight: fc.integer({ min: 1, max: 5 }),
    down: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  }),
  { minLength: 1, maxLength: 12, selector: ({ address }) => address },
);

function choiceFor(key: string): Choice {
  return new Choice(fakeRequest({ uri: key, connection: { remoteAddress: key } }));
}

/** The member that a request gets, which ends at once. */
function memberFor(upstream: Upstream, key: string): string {
  const peer = upstream.pick(choiceFor(key));
  if (peer !== undefined) upstream.free(peer, false);
  return peer?.server ?? 'none';
}

/** Addresses of clients, which serve as keys too. */
const KEYS = Array.from({ length: 60 }, (_, at) => `${at + 1}.${(at * 7) % 256}.${(at * 31) % 256}.1`);

/** The members, each as often as its weight. */
const units = (lines: readonly Line[]): Line[] => lines.flatMap((line) => Array.from({ length: line.weight }, () => line));

/** Points of all members as Cache::Memcached::Fast makes them, in order. */
function points(lines: readonly Line[]): { place: number; line: Line }[] {
  const all = lines.flatMap((line) => {
    const [host = '', port = ''] = line.address.split(':');
    const base = Buffer.from(`${host}\0${port}`);
    let place = 0;
    return Array.from({ length: line.weight * 160 }, () => {
      const before = Buffer.alloc(4);
      before.writeUInt32LE(place);
      place = crc32(Buffer.concat([base, before]));
      return { place, line };
    });
  });
  return all.sort((one, other) => one.place - other.place || (one.line.address < other.line.address ? -1 : 1));
}

/** What a method chooses, or undefined: the next one in turn, after 20 members that are down. */
type Model = (lines: readonly Line[]) => (key: string) => Line | undefined;

const MODELS: Readonly<Record<string, Model>> = {
  'hash $uri;': (lines) => (key) => {
    let hash = 0;
    for (let tries = 0; tries < 20; tries++) {
      hash += (crc32((tries === 0 ? '' : String(tries)) + key) >>> 16) & 0x7fff;
      const line = units(lines)[hash % units(lines).length]!;
      if (!line.down) return line;
    }
    return undefined;
  },
  'hash $uri consistent;': (lines) => {
    const ring = points(lines);
    return (key) => {
      const hash = crc32(key);
      const first = Math.max(
        0,
        ring.findIndex(({ place }) => place >= hash),
      );
      for (let tries = 0; tries < 20; tries++) {
        const { line } = ring[(first + tries) % ring.length]!;
        if (!line.down) return line;
      }
      return undefined;
    };
  },
  'ip_hash;': (lines) => (key) => {
    let hash = 89;
    for (let tries = 0; tries < 20; tries++) {
      for (const octet of key.split('.').slice(0, 3)) hash = (hash * 113 + Number(octet)) % 6271;
      const line = units(lines)[hash % units(lines).length]!;
      if (!line.down) return line;
    }
    return undefined;
  },
};

for (const [method, model] of Object.entries(MODELS)) {
  test(`${method} chooses what going through all members chooses`, async (t) => {
    await fc.assert(
      fc.asyncProperty(someLines, someLines, async (first, second) => {
        const node = new TestNode({ workers: 1 });
        await node.load(shop(`${method} ${first.map(textOf).join(' ')}`));
        // Members come, go and change, each on its own.
        const upstream = node.upstream('shop');
        for (const lines of [first, second]) {
          if (lines === second) await node.load(shop(`${method} ${second.map(textOf).join(' ')}`));
          // Whoever was there keeps its place.
          const order = Array.from(upstream.peers).sort((one, other) => one.order - other.order);
          const inOrder = order.map(({ server }) => lines.find(({ address }) => address === server)!);
          const expected = model(inOrder);
          for (const key of KEYS) {
            const line = expected(key);
            const got = memberFor(upstream, key);
            if (line !== undefined && got !== line.address) return false;
            if (line === undefined && got !== 'none' && lines.find(({ address }) => address === got)?.down !== false) return false;
          }
        }
        return true;
      }),
      { numRuns: 40 },
    );
    t.pass();
  });
}

test('hash consistent: about 1/n of the keys move when a member comes or goes, and none that need not', async (t) => {
  const keys = Array.from({ length: 4000 }, (_, at) => `key${at}`);
  for (const count of [2, 5, 20]) {
    const node = new TestNode({ workers: 1 });
    const lines = Array.from({ length: count }, (_, at) => `server 10.1.0.${at};`).join(' ');
    await node.load(shop(`hash $uri consistent; ${lines}`));
    const upstream = node.upstream('shop');
    const before = keys.map((key) => memberFor(upstream, key));
    await node.add('shop', 'server 10.2.0.1;');
    const after = keys.map((key) => memberFor(upstream, key));
    const moved = after.filter((server, at) => server !== before[at]);
    t.true(moved.every((server) => server === '10.2.0.1:80'));
    // 160 points a member leave the shares within about 8 % of each other; three times that is allowed.
    const share = (moved.length / keys.length) * (count + 1);
    t.true(share > 0.7 && share < 1.3, `${moved.length} of ${keys.length} moved to one of ${count + 1}`);
    await node.remove(node.idOf('server', '10.1.0.0'));
    const without = keys.map((key) => memberFor(upstream, key));
    t.true(without.every((server, at) => server === after[at] || after[at] === '10.1.0.0:80'));
  }
});

/** Every method with what it supports. */
const METHODS = [
  ['', true],
  ['least_conn;', true],
  ['least_time header;', true],
  ['least_time last_byte inflight;', true],
  ['hash $uri;', false],
  ['hash $uri consistent;', false],
  ['ip_hash;', false],
  ['random;', false],
  ['random two;', false],
  ['random two least_time=last_byte;', false],
] as const;

const bodies = (upstream: Upstream, count: number): Set<string> =>
  new Set(Array.from({ length: count }, (_, at) => memberFor(upstream, KEYS[at % KEYS.length]!)));

for (const [method, hasBackup] of METHODS) {
  test(`${method || 'round robin'}: down, drain, the only member, and backup members`, async (t) => {
    const node = new TestNode({ workers: 2 });
    await node.load(shop(`${method} server 10.0.0.1; server 10.0.0.2 drain; server 10.0.0.3 down; server 10.0.0.4;`));
    const upstream = node.upstream('shop', 1);
    t.deepEqual([...bodies(upstream, 60)].sort(), ['10.0.0.1:80', '10.0.0.4:80']);
    await node.replace(node.idOf('server', '10.0.0.4'), 'server 10.0.0.4 drain;');
    t.deepEqual([...bodies(upstream, 30)], ['10.0.0.1:80']);
    await node.replace(node.idOf('server', '10.0.0.1'), 'server 10.0.0.1 down;');
    t.deepEqual([...bodies(upstream, 5)], ['none']);
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2;');
    t.deepEqual([...bodies(upstream, 10)], ['10.0.0.2:80']);
    for (const gone of ['10.0.0.1', '10.0.0.3', '10.0.0.4']) await node.remove(node.idOf('server', gone));
    t.deepEqual([...bodies(upstream, 10)], ['10.0.0.2:80'], 'the only member');
    if (!hasBackup) return;
    await node.add('shop', 'server 10.0.0.9 backup;');
    t.deepEqual([...bodies(upstream, 10)], ['10.0.0.2:80']);
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2 down;');
    t.deepEqual([...bodies(upstream, 10)], ['10.0.0.9:80']);
  });
}

/** How often each member is chosen. */
function counts(upstream: Upstream, requests: number): number[] {
  const counted = new Map(Array.from(upstream.peers, ({ server }) => [server, 0]));
  for (let sent = 0; sent < requests; sent++) {
    const server = memberFor(upstream, `key${sent}`);
    counted.set(server, counted.get(server)! + 1);
  }
  return [...counted.values()];
}

for (const method of ['random;', 'random two;', 'hash $uri;'])
  test(`${method} shares requests by weight`, async (t) => {
    const node = new TestNode({ workers: 1 });
    await node.load(shop(`${method} server 10.0.0.1 weight=5; server 10.0.0.2 weight=3; server 10.0.0.3 weight=2; server 10.0.0.4 down;`));
    const shares = counts(node.upstream('shop'), 10_000);
    t.is(shares[3], 0);
    // Of two the lesser one for its weight: among idle ones the first that was drawn.
    for (const [at, part] of [5, 3, 2].entries()) t.true(Math.abs(shares[at]! - part * 1000) < 300, shares.join(' '));
  });

/** Difference between the most and the least loaded of 20 members with 2000 requests that stay. */
async function spread(method: string): Promise<number> {
  const node = new TestNode({ workers: 1 });
  await node.load(shop(`${method} ${Array.from({ length: 20 }, (_, at) => `server 10.0.0.${at};`).join(' ')}`));
  const upstream = node.upstream('shop');
  for (let sent = 0; sent < 2000; sent++) upstream.pick(choiceFor('/'));
  const active = Array.from(upstream.peers, (peer) => peer.active);
  return Math.max(...active) - Math.min(...active);
}

test('random two: requests that stay are spread far more evenly than with one', async (t) => {
  const [one, two] = [await spread('random;'), await spread('random two;')];
  t.true(two < 10 && one > two, `${one} and ${two}`);
});

test('random two least_time: the faster one of two', async (t) => {
  for (const [time, slow] of [
    ['header', '10.0.0.1:80'],
    ['last_byte', '10.0.0.2:80'],
  ] as const) {
    const node = new TestNode({ workers: 1 });
    await node.load(shop(`random two least_time=${time}; server 10.0.0.1; server 10.0.0.2;`));
    const upstream = node.upstream('shop');
    for (const peer of upstream.peers) {
      const isFirst = peer.server === '10.0.0.1:80';
      const claimed = upstream.pick(choiceFor('/'))!;
      upstream.answered(claimed, 200, 1);
      upstream.free(claimed, false);
      peer.picked++;
      upstream.answered(peer, 200, isFirst ? 900 : 5);
      upstream.finished(peer, 1, 1, isFirst ? 5 : 900);
      peer.picked--;
    }
    t.false(bodies(upstream, 40).has(slow), time);
  }
});

const load = fc.record({
  what: fc.constantFrom('pick', 'pick', 'end', 'end', 'wait'),
  number: fc.nat(40),
  took: fc.integer({ min: 1, max: 300 }),
});

for (const time of ['header', 'last_byte'] as const)
  test(`least_time ${time}: the choice is always the least product of time and requests for the weight`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(load, { maxLength: 60 }), async (steps) => {
        const node = new TestNode({ workers: 1 });
        await node.load(
          shop(`least_time ${time}; server 10.0.0.1; server 10.0.0.2 weight=3; server 10.0.0.3 weight=2; server 10.0.0.4 max_conns=2;`),
        );
        const upstream = node.upstream('shop');
        const timeOf = (peer: Peer): number => (time === 'header' ? peer.headerTime : peer.responseTime);
        const loadOf = (peer: Peer, active: number): number => ((active + 1) * Math.max(1, Math.round(timeOf(peer)))) / peer.weight;
        const busy: Peer[] = [];
        for (const { what, number, took } of steps) {
          if (what === 'wait') node.clock.now += number;
          else if (what === 'pick') {
            const usable = [...upstream.peers].filter(({ isUsable }) => isUsable);
            const least = Math.min(...usable.map((peer) => loadOf(peer, peer.active)));
            const peer = upstream.pick();
            if (peer === undefined) return usable.length === 0;
            if (loadOf(peer, peer.active - 1) !== least) return false;
            busy.push(peer);
          } else {
            const [peer] = busy.splice(number % Math.max(busy.length, 1), 1);
            if (peer === undefined) continue;
            upstream.answered(peer, 200, took);
            upstream.finished(peer, 1, 1, took * 2);
            upstream.free(peer, false);
          }
        }
        return true;
      }),
      { numRuns: 100 },
    );
    t.pass();
  });
