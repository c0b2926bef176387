import test, { type ExecutionContext } from 'ava';
import { CoarseClock } from '../../core/net/clock.js';
import { Dialer } from '../../core/net/dialer.js';
import { SystemHostNames } from '../../core/net/host-names.js';
import { dnsServer, type DnsServer } from '../harness/dns-server.js';

async function nameServer(t: ExecutionContext): Promise<{ readonly names: SystemHostNames; readonly dns: DnsServer }> {
  const dns = await dnsServer(t);
  return { names: new SystemHostNames(new CoarseClock(), Dialer.plain(), [{ address: '127.0.0.1', port: dns.port }]), dns };
}

test('addresses of both kinds come in turn, and are remembered', async (t) => {
  const { names, dns } = await nameServer(t);
  dns.a('a.example', ['192.0.2.1', '192.0.2.2', '192.0.2.3']);
  dns.aaaa('a.example', ['2001:db8::1']);
  const expected = ['2001:db8::1', '192.0.2.1', '192.0.2.2', '192.0.2.3'];
  const replies = await Promise.all([names.resolve('a.example'), names.resolve('A.Example.')]);
  t.deepEqual(replies, [expected, expected]);
  t.deepEqual(await names.resolve('a.example'), expected);
  t.deepEqual(dns.queries.map(({ type }) => type).toSorted(), ['A', 'AAAA'], 'asked once');
});

test('a server that is silent about IPv6 does not hold IPv4 up', async (t) => {
  const { names, dns } = await nameServer(t);
  dns.a('a.example', ['192.0.2.1']);
  dns.lie = (reply, query) => (query.readUInt16BE(query.length - 4) === 28 ? undefined : reply);
  t.deepEqual(await names.resolve('a.example'), ['192.0.2.1']);
});

test('a name with IPv6 alone', async (t) => {
  const { names, dns } = await nameServer(t);
  dns.aaaa('a.example', ['2001:db8::7']);
  t.deepEqual(await names.resolve('a.example'), ['2001:db8::7']);
});

test('a name that does not exist', async (t) => {
  const { names } = await nameServer(t);
  await t.throwsAsync(names.resolve('a.example'), { message: 'a.example could not be resolved (3: Host not found)' });
});

test('names of this machine and names that never exist are not asked for', async (t) => {
  const { names, dns } = await nameServer(t);
  t.deepEqual(await names.resolve('x.localhost'), ['::1', '127.0.0.1']);
  t.true((await names.resolve('localhost')).includes('127.0.0.1'));
  for (const name of ['a.invalid', 'a.onion']) await t.throwsAsync(names.resolve(name), { message: /Host not found/ });
  t.deepEqual(dns.queries, []);
});
