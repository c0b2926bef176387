import { isIP } from 'node:net';
import { ArgError } from '../module/spec.js';
import { Zone } from '../zone/zone.js';
import { AddressError, formatAddress, parseAddress, type Address } from '../module/address.js';
import type { HostLookup } from './host-lookup.js';
import { Group, type GroupOptions } from './group.js';
import { GroupMemory } from './group-memory.js';
import type { Member, MemberParameters } from './peer.js';

/** How many are remembered, and how long what a name meant is believed, in milliseconds. */
const LIMIT = 1024;
const TRUST = 30_000;

interface Remembered {
  readonly until: number;
  readonly group: Promise<Group>;
}

/** Groups of targets that no `upstream` block names: `proxy_pass http://host:port`. Each thread has its own. */
export class ImplicitGroups {
  readonly #groups = new Map<string, Remembered>();

  constructor(
    private readonly options: GroupOptions,
    private readonly lookup: HostLookup,
  ) {}

  /** @param host name, address, or `unix:/path` @throws (rejects) ArgError `host not found in upstream "x"` */
  find(host: string, port: number): Promise<Group> {
    const text = textOf(host, port);
    const known = this.#groups.get(text);
    if (known !== undefined && known.until > this.options.clock.now) return known.group;
    const group = this.#make(host, port, text);
    this.#groups.delete(text);
    this.#groups.set(text, { until: isName(host) ? this.options.clock.now + TRUST : Infinity, group });
    group.catch(() => this.#groups.delete(text));
    if (this.#groups.size > LIMIT) this.#groups.delete(this.#groups.keys().next().value ?? '');
    return group;
  }

  close(): void {
    for (const { group } of this.#groups.values())
      group.then(
        (made) => made.keepalive.close(),
        () => {},
      );
    this.#groups.clear();
  }

  async #make(host: string, port: number, text: string): Promise<Group> {
    const addresses = await this.#addresses(host, port, text);
    const zone = Zone.create('', 4096 + addresses.length * 512, { shared: false, growable: true });
    const memory = GroupMemory.create(zone, text);
    if (memory === undefined) throw new Error(`no memory for upstream "${text}"`);
    const group = new Group(text, memory, this.options);
    group.load(addresses.map((address, addressIndex) => implicitMember(address, addressIndex, text)));
    return group;
  }

  async #addresses(host: string, port: number, text: string): Promise<readonly Address[]> {
    try {
      const parsed = parseAddress(text, port);
      if ('address' in parsed) return [parsed.address];
      const hosts = await this.lookup(parsed.name);
      return hosts.map((host) => ({ host, port: parsed.port }));
    } catch (error) {
      throw new ArgError(error instanceof AddressError ? error.message : `host not found in upstream "${host}"`);
    }
  }
}

function textOf(host: string, port: number): string {
  if (host.startsWith('unix:')) return host;
  return isIP(host) === 0 ? `${host}:${port}` : formatAddress({ host, port });
}

function isName(host: string): boolean {
  return isIP(host) === 0 && !host.startsWith('unix:');
}

/** Those of a `server` line that says none. */
const PARAMETERS: MemberParameters = {
  weight: 1,
  maxConns: 0,
  maxFails: 1,
  failTimeout: 10_000,
  backup: false,
  down: false,
  drain: false,
  slowStart: 0,
  route: '',
};

function implicitMember(address: Address, addressIndex: number, name: string): Member {
  return { key: 1, addressIndex, address, resolved: true, name, settings: PARAMETERS, directive: undefined };
}
