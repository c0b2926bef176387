import test from 'ava';
import { formatAddress } from '../../core/contract/address.js';
import { CoarseClock } from '../../core/net/clock.js';
import { NameResolver, type AddressRecord, type Resolution } from '../../core/net/dns/resolution.js';
import { DEFAULT_KEEPALIVE } from '../../core/upstream/keepalive.js';
import { ResolvedUpstreams } from '../../core/upstream/resolved-upstreams.js';
import type { Upstream } from '../../core/upstream/upstream.js';

/** Knows what it is told. */
class ScriptedResolver extends NameResolver {
  readonly names = new Map<string, Resolution<AddressRecord>>();

  set(name: string, ...addresses: readonly string[]): void {
    const records = addresses.map((address) => ({ address, family: 4 as const }));
    this.names.set(name, { name, records, error: undefined, families: [4], ttl: 1 });
  }

  cached(name: string): Resolution<AddressRecord> | undefined {
    return this.names.get(name);
  }

  addresses(name: string): Promise<Resolution<AddressRecord>> {
    return Promise.resolve({ name, records: [], error: 'servfail', families: [], ttl: 1 });
  }

  services(): never {
    throw new Error('nobody looks for services');
  }

  close(): void {}
}

function upstreams(most = 10): {
  readonly resolved: ResolvedUpstreams;
  readonly resolver: ScriptedResolver;
  readonly at: (name: string) => Upstream;
} {
  const options = { clock: new CoarseClock(), worker: 0, owner: true, keepalive: DEFAULT_KEEPALIVE, onUnavailable: () => undefined };
  const [resolved, resolver] = [new ResolvedUpstreams(options, most), new ScriptedResolver()];
  return { resolved, resolver, at: (name) => resolved.of(resolver, name, 80) as Upstream };
}

/** The addresses of some choices, each of which ends at once. */
function choices(upstream: Upstream, count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const peer = upstream.pick();
    if (peer !== undefined) upstream.free(peer, false);
    return peer === undefined ? 'none' : formatAddress(peer.member.address);
  });
}

test('all addresses in turn, over all requests', (t) => {
  const { resolver, at } = upstreams();
  resolver.set('a.test', '127.0.0.1', '127.0.0.2');
  const found = [...choices(at('a.test'), 1), ...choices(at('a.test'), 1), ...choices(at('a.test'), 2)];
  t.deepEqual(found, ['127.0.0.1:80', '127.0.0.2:80', '127.0.0.1:80', '127.0.0.2:80']);
});

test('the same addresses are the same upstream, in whatever order and however often they are looked up', (t) => {
  const { resolver, at } = upstreams();
  resolver.set('a.test', '127.0.0.1', '127.0.0.2');
  const first = at('a.test');
  resolver.set('a.test', '127.0.0.2', '127.0.0.1');
  t.is(at('a.test'), first);
  t.is(at('a.test'), first);
});

test('other addresses are another upstream; who has begun with the former one ends with it', (t) => {
  const { resolver, at } = upstreams();
  resolver.set('a.test', '127.0.0.1', '127.0.0.2');
  const former = at('a.test');
  for (let i = 0; i < 1000; i++) {
    resolver.set('a.test', `127.0.1.${i % 250}`);
    t.deepEqual(choices(at('a.test'), 1), [`127.0.1.${i % 250}:80`]);
  }
  t.deepEqual(choices(former, 2), ['127.0.0.1:80', '127.0.0.2:80']);
});

test('ports, names and resolvers have upstreams of their own, so many at most', (t) => {
  const { resolved, resolver, at } = upstreams(3);
  const other = new ScriptedResolver();
  for (const each of [resolver, other]) each.set('a.test', '127.0.0.1');
  const all = [at('a.test'), resolved.of(resolver, 'a.test', 81), resolved.of(other, 'a.test', 80)];
  t.is(new Set(all).size, 3);
  t.true(at('a.test') === all[0]);
  resolver.set('b.test', '127.0.0.1');
  at('b.test');
  t.true(resolved.of(other, 'a.test', 80) === all[2]);
  t.true(at('a.test') !== all[0], 'the first one had to go');
});

test('names without an address', async (t) => {
  const { resolved, resolver } = upstreams();
  resolver.set('empty.test');
  t.throws(() => resolved.of(resolver, 'empty.test', 80), { message: 'empty.test could not be resolved (3: Host not found)' });
  const message = 'unknown.test could not be resolved (2: Server failure)';
  await t.throwsAsync(async () => resolved.of(resolver, 'unknown.test', 80), { message });
});
