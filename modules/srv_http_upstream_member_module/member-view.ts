import type { UpstreamView } from '../../core/module/services.js';
import type { DirectiveJson } from '../../core/module/spec.js';
import type { Directive } from '../../core/module/tree.js';
import { serverLines, type upstreamDirectives } from '../../core/module/upstream.js';
import { memberAddress } from './address.js';

type Shown = Omit<DirectiveJson<typeof upstreamDirectives.server>, 'resolve' | 'service'>;

/** A member as the API shows it. */
export interface MemberView extends Shown {
  readonly id: number;
  readonly service?: string;
  /** The name that the address came from. */
  readonly host?: string;
  /** Id of the member with the name, where that has several addresses. */
  readonly parent?: number;
}

/** A `server` line may have several addresses: their ids are its key plus a multiple of this. */
export const ADDRESS_STRIDE = 2 ** 32;

/** The members of one `server` line: one, or one for each address of a name. */
export function memberViews(directive: Directive, upstream: UpstreamView): MemberView[] {
  const key = directive.key ?? 0;
  const own = viewOf(directive, upstream);
  const views = [own];
  if (own.host === undefined) return views;
  for (let index = 1; ; index++) {
    const peer = upstream.peer(key + index * ADDRESS_STRIDE);
    if (peer === undefined) return views;
    views.push({ ...own, id: peer.id, server: peer.server, parent: key });
  }
}

function viewOf(directive: Directive, upstream: UpstreamView): MemberView {
  const { resolve: _resolve, service, ...shown } = serverLines.show(serverLines.read(directive));
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
