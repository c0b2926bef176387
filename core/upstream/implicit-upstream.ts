import { Zone } from '../zone/zone.js';
import type { Address } from '../contract/address.js';
import type { MemberParameters } from './member.js';
import { Upstream } from './upstream.js';
import type { UpstreamOptions } from './upstream-options.js';
import { UpstreamMemory } from './upstream-memory.js';

/** Parameters of a `server` line without any. */
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

/** The upstream of a target that no `upstream` block names: each address of it is a member. @param name the target: `host:port` */
export function implicitUpstream(name: string, addresses: readonly Address[], options: UpstreamOptions): Upstream {
  const zone = Zone.create('', 4096 + addresses.length * 512, { shared: false, growable: true });
  const memory = UpstreamMemory.create(zone, name);
  if (memory === undefined) throw new Error(`no memory for upstream "${name}"`);
  const upstream = new Upstream(name, memory, options);
  const members = addresses.map((address, addressIndex) => ({ key: 1, addressIndex, address, resolved: true, name }));
  upstream.updates.load(members.map((member) => ({ ...member, settings: PARAMETERS, directive: undefined })));
  return upstream;
}
