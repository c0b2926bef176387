import { durationText } from '../../core/contract/duration.js';
import type { MemberLimits } from '../../core/contract/members.js';
import type { PeerView, UpstreamView } from '../../core/contract/upstreams.js';
import type { DirectiveJson } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { serverLines, type upstreamDirectives } from '../../core/toolkit/upstream.js';
import { memberAddress } from './address.js';

type Shown = Omit<DirectiveJson<typeof upstreamDirectives.server>, 'resolve' | 'service' | 'route' | 'members_from'>;

/** A member as the API shows it. */
export interface MemberView extends Shown {
  readonly id: number;
  /** Of HTTP alone. */
  readonly route?: string;
  readonly service?: string;
  /** The name that the address came from. */
  readonly host?: string;
  /** Id of the member with the name, where that has several addresses or is looked up again and again. */
  readonly parent?: number;
  /** Of a member with a name that is looked up again and again, while the name has no address. */
  readonly state?: 'resolving';
}

/** A `server` line may have several addresses: their ids are its key plus a multiple of this. */
export const ADDRESS_STRIDE = 2 ** 32;

/** The members of one `server` line: one, or one for each address of a name. A name that is looked up again and again is before them. */
export function memberViews(directive: Directive, upstream: UpstreamView): MemberView[] {
  const key = directive.key ?? 0;
  const addresses = upstream.addresses(directive);
  if (addresses !== undefined) return [nameView(directive, addresses), ...addresses.map((peer) => foundView(directive, peer))];
  const own = viewOf(directive, upstream);
  const views = [own];
  if (own.host === undefined) return views;
  for (let index = 1; ; index++) {
    const peer = upstream.peer(key + index * ADDRESS_STRIDE);
    if (peer === undefined) return views;
    views.push({ ...own, id: peer.id, server: peer.server, parent: key });
  }
}

function nameView(directive: Directive, addresses: readonly PeerView[]): MemberView {
  const { resolve: _resolve, members_from: source, service, ...shown } = serverLines.show(serverLines.read(directive));
  // A service has the ports of its records.
  const server = service === '' && source === '' ? memberAddress(shown.server).canonical : shown.server;
  const id = directive.key ?? 0;
  return { id, ...shown, server, ...(service !== '' && { service }), ...(addresses.length === 0 && { state: 'resolving' }) };
}

function foundView(directive: Directive, { id, server, name, weight, backup, limits }: PeerView): MemberView {
  const { resolve: _resolve, service: _service, members_from: _source, ...shown } = serverLines.show(serverLines.read(directive));
  return { id, ...shown, ...(limits && shownLimits(limits)), server, weight, backup, host: name, parent: directive.key ?? 0 };
}

function shownLimits({ maxConns, maxFails, failTimeout, slowStart }: MemberLimits): Partial<Shown> {
  return {
    ...(maxConns !== undefined && { max_conns: maxConns }),
    ...(maxFails !== undefined && { max_fails: maxFails }),
    ...(failTimeout !== undefined && { fail_timeout: durationText(failTimeout) }),
    ...(slowStart !== undefined && { slow_start: durationText(slowStart) }),
  };
}

function viewOf(directive: Directive, upstream: UpstreamView): MemberView {
  const { resolve: _resolve, members_from: _source, service, ...shown } = serverLines.show(serverLines.read(directive));
  const id = directive.key ?? 0;
  return { id, ...shown, ...shownAddress(shown.server, id, upstream), ...(service !== '' && { service }) };
}

/** The figures know what a name was resolved to. */
function shownAddress(server: string, id: number, upstream: UpstreamView): { server: string; host?: string } {
  try {
    const { canonical, isName } = memberAddress(server);
    return isName ? { server: upstream.peer(id)?.server ?? canonical, host: server } : { server: canonical };
  } catch {
    return { server: upstream.peer(id)?.server ?? server };
  }
}
