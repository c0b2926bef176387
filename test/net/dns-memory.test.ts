/** How long a resolver remembers records, failures and names that do not exist. */
import test from 'ava';
import { addressesOf, outcome, serverAnd } from './resolvers.js';

/** A clock of one's own. */
function steppedClock(): { ms: number; readonly now: () => number } {
  const clock = { ms: 1_000_000, now: () => clock.ms };
  return clock;
}

test('records are remembered as long as their TTL says, within bounds', async (t) => {
  const clock = steppedClock();
  const { dns, resolver } = await serverAnd(t, { now: clock.now });
  const ttls = { 'zero.test': [0, 1], 'short.test': [7, 7], 'long.test': [4_000_000, 86_400] } as const;
  for (const [name, [sent, used]] of Object.entries(ttls)) {
    dns.a(name, ['192.0.2.1'], sent);
    t.is((await resolver.addresses(name)).ttl, used, name);
    clock.ms += used * 1000 - 1;
    t.not(resolver.cached(name), undefined, name);
    clock.ms += 1;
    t.is(resolver.cached(name), undefined, name);
    dns.a(name, ['192.0.2.2'], sent);
    t.deepEqual(await addressesOf(resolver, name), ['192.0.2.2'], name);
  }
});

test('a TTL with its highest bit set is none (RFC 2181, 8)', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.a('a.test', ['192.0.2.1'], 300);
  // In front of the address and its length.
  dns.lie = (reply) => {
    reply.writeUInt8(0x80, reply.length - 10);
    return reply;
  };
  const { records, ttl } = await resolver.addresses('a.test');
  t.deepEqual([records.length, ttl], [1, 1]);
});

test('"valid" is instead of the TTL', async (t) => {
  const { dns, resolver } = await serverAnd(t, { valid: 10 });
  dns.a('a.test', ['192.0.2.1'], 1);
  dns.a('b.test', ['192.0.2.1'], 1000);
  dns.negativeTtl = 100;
  for (const name of ['a.test', 'b.test', 'none.test']) t.is((await resolver.addresses(name)).ttl, 10, name);
});

test('names are forgotten up to a tenth of their time early, by chance', async (t) => {
  const clock = steppedClock();
  const { dns, resolver } = await serverAnd(t, { now: clock.now, random: () => 0.999 });
  dns.a('a.test', ['192.0.2.1'], 100);
  await resolver.addresses('a.test');
  clock.ms += 90_000;
  t.not(resolver.cached('a.test'), undefined);
  clock.ms += 200;
  t.is(resolver.cached('a.test'), undefined);
});

test('what does not exist is remembered as the SOA record says, within bounds', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  for (const [sent, used] of [
    [0, 1],
    [20, 20],
    [4_000_000, 300],
    [undefined, 1],
  ] as const) {
    dns.negativeTtl = sent;
    const name = `${sent}.test`;
    t.deepEqual(await resolver.addresses(name), { name, records: [], error: 'nxdomain', families: [4], ttl: used });
    t.not(resolver.cached(name), undefined);
    dns.a(`no-${name}`, []);
    t.deepEqual(await resolver.addresses(`no-${name}`), { name: `no-${name}`, records: [], error: undefined, families: [4], ttl: used });
  }
});

test('a failure does not replace what is still good', async (t) => {
  const clock = steppedClock();
  const { dns, resolver } = await serverAnd(t, { now: clock.now });
  dns.a('a.test', ['192.0.2.1'], 10);
  await resolver.addresses('a.test');
  dns.fail('*', 'servfail');
  t.is(outcome(await resolver.addresses('a.test', { fresh: true })), 'servfail');
  t.deepEqual(outcome(resolver.cached('a.test')!), ['192.0.2.1']);
  clock.ms += 10_000;
  t.is(outcome(await resolver.addresses('a.test')), 'servfail');
  dns.heal('*');
  t.is(outcome(await resolver.addresses('a.test')), 'servfail', 'remembered for a second');
  clock.ms += 1000;
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  dns.remove('a.test');
  await resolver.addresses('a.test', { fresh: true });
  t.is(outcome(resolver.cached('a.test')!), 'nxdomain');
});

test('the number of names that are remembered is bounded: the one used last stays', async (t) => {
  const { dns, resolver } = await serverAnd(t, { names: 3 });
  for (const name of ['a.test', 'b.test', 'c.test']) await resolver.addresses(name);
  t.not(resolver.cached('a.test'), undefined);
  await resolver.addresses('d.test');
  t.deepEqual(
    ['a.test', 'b.test', 'c.test', 'd.test'].map((name) => resolver.cached(name) !== undefined),
    [true, false, true, true],
  );
  t.is(dns.queries.length, 4);
});

test('hundreds of names at once', async (t) => {
  const { dns, resolver } = await serverAnd(t, { names: 100 });
  const names = Array.from({ length: 1000 }, (_, at) => `${at}.test`);
  for (const name of names) dns.a(name, ['192.0.2.1']);
  const found = await Promise.all(names.map((name) => addressesOf(resolver, name)));
  t.true(found.every((addresses) => addresses?.[0] === '192.0.2.1'));
  t.is(names.filter((name) => resolver.cached(name) !== undefined).length, 100);
});

test('steps of the clock have no effect', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.a('a.test', ['192.0.2.1'], 60);
  const found = await resolver.addresses('a.test');
  const { now } = Date;
  for (const step of [-1e9, 1e9]) {
    Date.now = () => now() + step;
    t.is(resolver.cached('a.test'), found);
  }
  Date.now = now;
});
