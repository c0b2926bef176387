import type { UpstreamView } from '../../core/contract/upstreams.js';
import type { Directive } from '../../core/contract/tree.js';
import { ADDRESS_STRIDE, memberViews, type MemberView } from './member-view.js';

export interface MemberPage {
  readonly value: readonly MemberView[];
  /** The id that the next page starts after; absent: there is none. */
  readonly next?: number;
}

/**
 * The members after `after`, in the order of their ids; the further addresses of a name follow the first. A member that was removed
 * meanwhile may be `after` as well: ids are not used again.
 */
export function memberPage(upstream: UpstreamView, after = -1, limit = Infinity): MemberPage {
  const value: MemberView[] = [];
  for (const line of byKey(upstream, after % ADDRESS_STRIDE)) {
    for (const view of memberViews(line, upstream)) {
      if (!isAfter(view.id, after)) continue;
      const last = value.at(-1);
      if (value.length >= limit && last !== undefined) return { value, next: last.id };
      value.push(view);
    }
  }
  return { value };
}

function byKey(upstream: UpstreamView, from: number): Directive[] {
  const lines = Array.from(upstream.directive.block?.named('server') ?? []).filter(({ key = 0 }) => key >= from);
  return lines.toSorted((a, b) => (a.key ?? 0) - (b.key ?? 0));
}

function isAfter(id: number, after: number): boolean {
  if (after < 0) return true;
  const [key, afterKey] = [id % ADDRESS_STRIDE, after % ADDRESS_STRIDE];
  return key === afterKey ? id > after : key > afterKey;
}
