import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import test from 'ava';
import { Packet } from 'dns2';
import { RecordType } from '../../core/net/dns/records.js';
import { dnsServer } from '../harness/dns-server.js';
import { freePort } from '../harness/ports.js';
import { waitFor } from '../harness/wait.js';
import { addressesOf, outcome, resolverOf, serverAnd } from './resolvers.js';

const IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

test('addresses of both families, and what is known of them without a promise', async (t) => {
  const { dns, resolver } = await serverAnd(t, { ipv6: true });
  dns.a('a.test', ['192.0.2.1', '192.0.2.2'], 30);
  dns.aaaa('a.test', ['2001:db8::1'], 20);
  t.is(resolver.cached('a.test'), undefined);
  const found = await resolver.addresses('A.Test.');
  t.deepEqual(found, {
    name: 'a.test',
    records: [
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ],
    error: undefined,
    families: [4, 6],
    ttl: 20,
  });
  t.is(resolver.cached('a.test'), found);
  t.is(resolver.cached('a.TEST.'), found);
  t.is(await resolver.addresses('a.test'), found);
  t.is(dns.queries.length, 2);
});

test('any number of callers wait for one query', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.a('a.test', ['192.0.2.1']);
  const all = await Promise.all(Array.from({ length: 1000 }, () => resolver.addresses('a.test')));
  t.is(new Set(all).size, 1);
  t.is(dns.count('a.test'), 1);
});

test('ports, ids and the case of letters are chosen by chance', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  const names = Array.from({ length: 24 }, (_, at) => `a-long-name-of-letters-${at}.test`);
  await Promise.all(names.map((name) => resolver.addresses(name)));
  t.is(dns.queries.length, names.length);
  t.true(new Set(dns.queries.map(({ port }) => port)).size > 20);
  t.true(new Set(dns.queries.map(({ id }) => id)).size > 20);
  t.true(dns.queries.filter(({ name, spelling }) => name !== spelling).length > 20);
  const patterns = dns.queries.map(({ spelling }) => spelling.slice(0, 20));
  t.true(new Set(patterns).size > 20);
});

/** Changes the reply that a lying server sends before the true one. */
const LIES: Readonly<Record<string, (packet: Packet) => void>> = {
  'another id': ({ header }) => void (header.id ^= 1),
  'another name': ({ questions: [question] }) => void (question!.name = 'evil.test'),
  'another type': ({ questions: [question] }) => void (question!.type = RecordType.AAAA),
  'another class': ({ questions: [question] }) => void (question!.class = 3),
  'no question': (packet) => void (packet.questions = []),
  'two questions': (packet) => void packet.questions.push(packet.questions[0]!),
  'a query': ({ header }) => void (header.qr = 0),
  'another operation': ({ header }) => void (header.opcode = 4),
};

for (const [what, lie] of Object.entries(LIES))
  test(`a reply with ${what} is not the reply`, async (t) => {
    const { dns, resolver } = await serverAnd(t);
    dns.a('a.test', ['192.0.2.1']);
    dns.lie = (reply) => {
      const packet = Packet.parse(reply);
      packet.answers[0]!.address = '198.51.100.66';
      lie(packet);
      return [packet.toBuffer(), reply];
    };
    t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  });

test('records of names that nobody asked for count for nothing', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.a('a.test', ['192.0.2.1']);
  dns.lie = (reply) => {
    const packet = Packet.parse(reply);
    packet.answers.push(new Packet.Resource({ name: 'b.test', type: RecordType.A, class: 1, ttl: 9, address: '198.51.100.66' }));
    packet.answers.push(new Packet.Resource({ name: 'a.test', type: RecordType.A, class: 3, ttl: 9, address: '198.51.100.67' }));
    return packet.toBuffer();
  };
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  t.is(resolver.cached('b.test'), undefined);
  // Nor do they say that the name has no address.
  dns.lie = (reply) => {
    const packet = Packet.parse(reply);
    packet.answers[0]!.name = 'b.test';
    return packet.toBuffer();
  };
  t.is(outcome(await resolver.addresses('a.test', { fresh: true })), 'servfail');
});

test('a reply from another address is not the reply', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.a('a.test', ['192.0.2.1']);
  const forger = createSocket('udp4');
  t.teardown(() => forger.close());
  dns.lie = (reply) => {
    const packet = Packet.parse(reply);
    packet.answers[0]!.address = '198.51.100.66';
    forger.send(packet.toBuffer(), dns.queries[0]!.port, '127.0.0.1');
    return undefined;
  };
  const found = addressesOf(resolver, 'a.test');
  await waitFor('the query', () => dns.queries.length > 0);
  dns.lie = undefined;
  t.deepEqual(await found, ['192.0.2.1'], 'asked again, as there was no reply');
});

test('a server that changes the case of the question is asked again in plain spelling', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  const name = 'a-long-name-of-letters.test';
  dns.a(name, ['192.0.2.1']);
  dns.lie = (reply) => {
    const packet = Packet.parse(reply);
    packet.questions[0]!.name = packet.questions[0]!.name.toUpperCase();
    return packet.toBuffer();
  };
  t.deepEqual(await addressesOf(resolver, name), ['192.0.2.1']);
  t.deepEqual(
    dns.queries.map(({ transport, spelling }) => [transport, spelling === name]),
    [
      ['udp', false],
      ['udp', true],
    ],
  );
});

test('a truncated reply is asked for over TCP, however large and in whatever pieces', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  const addresses = Array.from({ length: 1000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
  dns.a('a.test', addresses);
  dns.truncate = true;
  t.deepEqual(await addressesOf(resolver, 'a.test'), addresses);
  t.deepEqual(
    dns.queries.map(({ transport }) => transport),
    ['udp', 'tcp'],
  );
});

for (const failure of ['servfail', 'refused', 'formerr', 'notimp'] as const)
  test(`${failure}: the next server is asked, and when all fail the name is not resolved`, async (t) => {
    const [first, second] = [await dnsServer(t), await dnsServer(t)];
    const resolver = resolverOf(t, [first, second]);
    first.fail('*', failure);
    second.a('a.test', ['192.0.2.1']);
    t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
    second.fail('*', failure);
    t.is(await addressesOf(resolver, 'b.test'), failure);
    t.deepEqual([first.count('b.test'), second.count('b.test')], [1, 1]);
  });

test('a server whose replies are garbage, over UDP or TCP, is followed by the next one', async (t) => {
  const [first, second] = [await dnsServer(t), await dnsServer(t)];
  const resolver = resolverOf(t, [first, second]);
  first.a('a.test', ['192.0.2.66']);
  second.a('a.test', ['192.0.2.1']);
  // The header promises a record that is not there.
  first.lie = (reply) => (reply.readUInt16BE(6) > 0 ? reply.subarray(0, reply.length - 3) : reply);
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  second.fail('*', 'refused');
  first.a('b.test', ['192.0.2.66']);
  first.truncate = true;
  t.is(await addressesOf(resolver, 'b.test'), 'formerr');
});

test('a name that does not exist is an answer: the next server is not asked', async (t) => {
  const [first, second] = [await dnsServer(t), await dnsServer(t)];
  const resolver = resolverOf(t, [first, second]);
  t.is(await addressesOf(resolver, 'a.test'), 'nxdomain');
  t.is(first.queries.length + second.queries.length, 1);
});

test('a server that is gone is known at once', async (t) => {
  const gone = { port: await freePort(t) };
  const dns = await dnsServer(t);
  // Were it waited for, the time would be over.
  const resolver = resolverOf(t, [gone, dns], { timeout: 900 });
  for (const name of ['a.test', 'b.test', 'c.test']) {
    dns.a(name, ['192.0.2.1']);
    t.deepEqual(await addressesOf(resolver, name), ['192.0.2.1']);
  }
});

test('servers take turns', async (t) => {
  const servers = [await dnsServer(t), await dnsServer(t), await dnsServer(t)];
  const resolver = resolverOf(t, servers);
  for (let i = 0; i < 6; i++) await resolver.addresses(`${i}.test`);
  t.deepEqual(
    servers.map((dns) => dns.queries.length),
    [2, 2, 2],
  );
});

test('a silent server is followed by the next one, and asked last from then on', async (t) => {
  const [first, second] = [await dnsServer(t), await dnsServer(t)];
  const resolver = resolverOf(t, [first, second]);
  first.fail('*', 'silent');
  second.a('a.test', ['192.0.2.1']);
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  for (const name of ['b.test', 'c.test', 'd.test']) await resolver.addresses(name);
  t.is(first.queries.length, 1);
});

test('a server that is slow, not silent: its late reply counts, also after the third query', async (t) => {
  const { dns, resolver } = await serverAnd(t, { timeout: 4200 });
  dns.a('a.test', ['192.0.2.1']);
  dns.delay = 3300;
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  t.is(dns.count('a.test'), 3, 'it was asked twice more meanwhile');
});

test('servers that are silent until the time is over', async (t) => {
  const { dns, resolver } = await serverAnd(t, { timeout: 200 });
  dns.fail('*', 'silent');
  t.is(await addressesOf(resolver, 'a.test'), 'timedout');
});

test('no time limit, and one that is longer than timers are', async (t) => {
  for (const timeout of [0, 1e12]) {
    const { dns, resolver } = await serverAnd(t, { timeout });
    dns.a('a.test', ['192.0.2.1']);
    dns.delay = 20;
    t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  }
});

test('servers that are back after a moment, and servers that are not', async (t) => {
  const [gone, back] = [await freePort(t), await freePort(t)];
  const never = addressesOf(resolverOf(t, [{ port: gone }]), 'a.test');
  const found = addressesOf(resolverOf(t, [{ port: back }]), 'a.test');
  (await dnsServer(t, back)).a('a.test', ['192.0.2.1']);
  t.deepEqual(await found, ['192.0.2.1']);
  t.is(await never, 'unreachable');
});

test('aliases in one reply, and aliases that are left to the client', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  const chain = ['a.test', 'B.test', 'c.test', 'd.test'];
  for (const [at, name] of chain.slice(0, -1).entries()) dns.cname(name, chain[at + 1]!, 50 - at);
  dns.a('d.test', ['192.0.2.1'], 300);
  const found = await resolver.addresses('a.test');
  t.deepEqual([outcome(found), found.ttl, dns.queries.length], [['192.0.2.1'], 48, 1]);
  dns.followsAliases = false;
  const again = await resolver.addresses('a.test', { fresh: true });
  t.deepEqual([outcome(again), again.ttl, dns.queries.length], [['192.0.2.1'], 48, 5]);
});

test('aliases that lead nowhere or in circles', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.cname('a.test', 'b.test');
  dns.cname('b.test', 'a.test');
  dns.cname('gone.test', 'not-there.test');
  t.is(await addressesOf(resolver, 'a.test'), 'servfail');
  t.is(await addressesOf(resolver, 'gone.test'), 'nxdomain');
  dns.followsAliases = false;
  t.is(await addressesOf(resolver, 'b.test'), 'servfail');
  t.true(dns.queries.length < 20);
  for (let i = 0; i < 30; i++) dns.cname(`${i}.test`, `${i + 1}.test`);
  t.is(await addressesOf(resolver, '0.test'), 'servfail');
});

test('one family fails: the addresses of the other are found, and the result says so', async (t) => {
  const { dns, resolver } = await serverAnd(t, { ipv6: true });
  dns.a('a.test', ['192.0.2.1'], 60);
  dns.lie = (reply, query) => {
    if (query.readUInt16BE(query.length - 4) !== RecordType.AAAA) return reply;
    const failure = Packet.parse(reply);
    failure.header.rcode = 2;
    return failure.toBuffer();
  };
  const { records, error, families, ttl } = await resolver.addresses('a.test');
  t.deepEqual([records.length, error, families, ttl], [1, 'servfail', [4], 30]);
});

test('a name that exists for one family alone', async (t) => {
  const { dns, resolver } = await serverAnd(t, { ipv6: true });
  dns.aaaa('a.test', ['::ffff:0:1'], 60);
  const { records, error, families, ttl } = await resolver.addresses('a.test');
  t.deepEqual([records[0]?.address, error, families, ttl], ['::ffff:0:1', undefined, [4, 6], 60]);
});

test('services', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.srv('_http._tcp.test', [
    { target: 'A.test', port: 8080, priority: 1, weight: 5 },
    { target: 'b.test', port: 8081 },
    { target: '.', port: 1 },
  ]);
  const found = await resolver.services('_http._tcp.test');
  t.deepEqual(found.records, [
    { target: 'a.test', port: 8080, priority: 1, weight: 5 },
    { target: 'b.test', port: 8081, priority: 0, weight: 0 },
  ]);
  t.is(await resolver.services('_HTTP._tcp.test'), found);
  t.deepEqual([found.error, found.ttl], [undefined, 60]);
  t.is((await resolver.services('_none._tcp.test')).error, 'nxdomain');
  t.is(dns.queries.length, 2);
});

test('names that DNS cannot have are not asked for', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  const names = ['', '.', 'a..b', `${'a'.repeat(64)}.test`, `${'a.'.repeat(127)}b`, 'a b', 'ü.test', '.a'];
  for (const name of names) t.is(await addressesOf(resolver, name), 'nxdomain', name);
  t.deepEqual(dns.queries, []);
});

test('a name server that is given by its own name', async (t) => {
  const { dns } = await serverAnd(t);
  dns.a('a.test', ['192.0.2.1']);
  const resolver = resolverOf(t, [], { servers: [{ address: 'localhost', port: dns.port }] });
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  const nowhere = resolverOf(t, [], { servers: [{ address: 'no-such-host.invalid', port: 53 }] });
  t.is(await addressesOf(nowhere, 'a.test'), 'unreachable');
});

(IPV6 ? test : test.skip)('a name server with an IPv6 address', async (t) => {
  const dns = await dnsServer(t, 0, '::1');
  dns.a('a.test', ['192.0.2.1']);
  const resolver = resolverOf(t, [], { servers: [{ address: '::1', port: dns.port }] });
  t.deepEqual(await addressesOf(resolver, 'a.test'), ['192.0.2.1']);
  dns.truncate = true;
  t.deepEqual(outcome(await resolver.addresses('a.test', { fresh: true })), ['192.0.2.1']);
});

test('what is under way ends when the resolver is closed', async (t) => {
  const { dns, resolver } = await serverAnd(t);
  dns.fail('*', 'silent');
  const all = Array.from({ length: 600 }, (_, at) => addressesOf(resolver, `${at}.test`));
  resolver.close();
  t.deepEqual([...new Set(await Promise.all(all))], ['closed']);
  t.is(await addressesOf(resolver, 'late.test'), 'closed');
});
