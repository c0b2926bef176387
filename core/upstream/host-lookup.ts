import { lookup } from 'node:dns/promises';

/** Finds the addresses of a name, in the order to use them. Rejects when there are none. */
export type HostLookup = (name: string) => Promise<readonly string[]>;

/** The system's resolver (getaddrinfo), IPv4 first, as nginx does for names in a configuration. */
export const systemLookup: HostLookup = async (name) => {
  const found = await lookup(name, { all: true, order: 'ipv4first' });
  return [...new Set(found.map(({ address }) => address))];
};

/** Asks for each name once. One for each change of the configuration. */
export function remembering(lookup: HostLookup): HostLookup {
  const known = new Map<string, Promise<readonly string[]>>();
  return (name) => {
    let result = known.get(name);
    if (result === undefined) known.set(name, (result = lookup(name)));
    return result;
  };
}
