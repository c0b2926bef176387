import test from 'ava';
import { FakeNames } from './fake-names.js';
import { MemoryStore } from './memory-store.js';
import { addresses, members, TestNode } from './nodes.js';

const shop = (lines: string) => `http { upstream shop { zone shop 64k; resolver 127.0.0.1 nxdomain_grace=10s; ${lines} } }`;

test('a server that starts has the addresses of before until there is a reply', async (t) => {
  const store = new MemoryStore();
  const first = new FakeNames();
  first.set('a.test', ['10.0.0.1', '10.0.0.2']);
  const config = shop('server a.test resolve; server b.test resolve;');
  const before = new TestNode({ discovery: first.discovery });
  before.master.discovered?.remember(store);
  await before.load(config);
  before.discover();
  await first.pass(0);
  const ids = members(before)[0]?.filter((text) => text.includes(':80'));
  before.master.stop();

  const names = new FakeNames();
  names.set('a.test', 'timedout');
  names.set('b.test', ['10.0.0.9']);
  const node = new TestNode({ discovery: names.discovery });
  node.master.discovered?.remember(store);
  await node.load(config);
  t.deepEqual(addresses(node), ['10.0.0.1:80', '10.0.0.2:80']);
  node.discover();
  await names.pass(0);
  t.deepEqual(addresses(node), ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.9:80']);
  t.is(ids?.length, 2);
  names.set('a.test', ['10.0.0.2', '10.0.0.3']);
  await names.pass(1000);
  t.deepEqual(addresses(node), ['10.0.0.2:80', '10.0.0.3:80', '10.0.0.9:80']);
  // A new address has a number that none had before.
  t.is(new Set([...(ids ?? []), ...(members(node)[0] ?? [])].map((text) => text.split(' ')[0])).size, 4);
  await node.remove(node.idOf('server', 'a.test'));
  node.master.stop();
  t.deepEqual(
    [...store.lines()].map(({ text }) => (JSON.parse(text) as { name: string }).name),
    ['b.test'],
  );
});

test('a server that is killed at any moment gives the number of an address to no other one', async (t) => {
  const store = new MemoryStore();
  const config = shop('server a.test resolve;');
  const owners = new Map<string, string>();
  for (let life = 0; life < 3; life++) {
    const names = new FakeNames();
    names.set('a.test', 'timedout');
    const node = new TestNode({ discovery: names.discovery });
    node.master.discovered?.remember(store);
    await node.load(config);
    // A change that is the only one for a while is on disk before it is active.
    if (life === 1) t.deepEqual(addresses(node), ['10.0.0.1:80']);
    node.discover();
    await names.pass(0);
    for (let change = life === 0 ? 1 : 150; change > 0; change--) {
      names.set('a.test', [`10.0.${life}.${change}`]);
      await names.pass(1000);
      for (const member of members(node)[0] ?? []) {
        const [id = '', server = ''] = member.split(' ');
        t.is(owners.get(id) ?? server, server, `id ${id} in life ${life}`);
        owners.set(id, server);
      }
    }
  }
});
