import { isIP } from 'node:net';
import { ArgError } from '../module/spec.js';
import { Zone } from '../zone/zone.js';
import { AddressError, formatAddress, parseAddress, type Address } from '../module/address.js';
import type { HostLookup } from './host-lookup.js';
import { Upstream, type UpstreamOptions } from './upstream.js';
import { UpstreamMemory } from './upstream-memory.js';
import type { Member, MemberParameters } from './peer.js';

/** How many are remembered, and how long what a name meant is believed, in milliseconds. */
const LIMIT = 1024;
const TRUST = 30_000;

interface Remembered {
  readonly until: number;
  readonly upstream: Promise<Upstream>;
}

/** Upstreams of targets that no `upstream` block names: `proxy_pass http://host:port`. Each thread has its own. */
export class ImplicitUpstreams {
  readonly #upstreams = new Map<string, Remembered>();

  constructor(
    private readonly options: UpstreamOptions,
    private readonly lookup: HostLookup,
  ) {}

  /** @param host name, address, or `unix:/path` @throws (rejects) ArgError `host not found in upstream "x"` */
  find(host: string, port: number): Promise<Upstream> {
    const text = textOf(host, port);
    const known = this.#upstreams.get(text);
    if (known !== undefined && known.until > this.options.clock.now) return known.upstream;
    const upstream = this.#make(host, port, text);
    this.#upstreams.delete(text);
    this.#upstreams.set(text, { until: isName(host) ? this.options.clock.now + TRUST : Infinity, upstream });
    upstream.catch(() => this.#upstreams.delete(text));
    if (this.#upstreams.size > LIMIT) this.#upstreams.delete(this.#upstreams.keys().next().value ?? '');
    return upstream;
  }

  close(): void {
    for (const { upstream } of this.#upstreams.values())
      upstream.then(
        (made) => made.keepalive.close(),
        () => {},
      );
    this.#upstreams.clear();
  }

  async #make(host: string, port: number, text: string): Promise<Upstream> {
    const addresses = await this.#addresses(host, port, text);
    const zone = Zone.create('', 4096 + addresses.length * 512, { shared: false, growable: true });
    const memory = UpstreamMemory.create(zone, text);
    if (memory === undefined) throw new Error(`no memory for upstream "${text}"`);
    const upstream = new Upstream(text, memory, this.options);
    upstream.load(addresses.map((address, addressIndex) => implicitMember(address, addressIndex, text)));
    return upstream;
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
