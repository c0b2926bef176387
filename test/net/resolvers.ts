/** Resolvers for tests, with name servers that a test controls. */
import type { ExecutionContext } from 'ava';
import type { AddressRecord, Resolution } from '../../core/net/dns/resolution.js';
import { Dialer } from '../../core/net/dialer.js';
import { Resolver, type ResolverOptions } from '../../core/net/dns/resolver.js';
import { dnsServer, type DnsServer } from '../harness/dns-server.js';

/** A resolver of these servers, without jitter, that looks up IPv4 addresses unless the options say otherwise. */
export function resolverOf(
  t: ExecutionContext,
  servers: readonly { readonly port: number }[],
  options: Partial<ResolverOptions> = {},
): Resolver {
  const addresses = servers.map(({ port }) => ({ address: '127.0.0.1', port }));
  const resolver = new Resolver({ servers: addresses, ipv6: false, random: () => 0, ...options }, Dialer.plain());
  t.teardown(() => resolver.close());
  return resolver;
}

export async function serverAnd(
  t: ExecutionContext,
  options: Partial<ResolverOptions> = {},
): Promise<{ dns: DnsServer; resolver: Resolver }> {
  const dns = await dnsServer(t);
  return { dns, resolver: resolverOf(t, [dns], options) };
}

/** Addresses, or the error. */
export const outcome = ({ records, error }: Resolution<AddressRecord>): readonly string[] | string | undefined =>
  records.length > 0 || error === undefined ? records.map(({ address }) => address) : error;
export const addressesOf = async (resolver: Resolver, name: string): Promise<readonly string[] | string | undefined> =>
  outcome(await resolver.addresses(name));
