import type { HttpRequest, MemberCall, Result } from '../../core/contract/http.js';
import type { CachePlan } from './cache-plan.js';
import { ownCacheState, setCacheState, type CacheState } from './cache-state.js';
import { cacheStatusField } from './cache-status.js';
import type { CacheZone } from './cache-zone.js';
import { isTrue } from './conditions.js';
import type { StoredHead } from './entry-file.js';
import { nginxRules } from './nginx-rules.js';
import { NO_TERMS } from './rfc9111/request-terms.js';
import { isUsable } from './rules.js';
import { sendWhole } from './stored-sending.js';

/** A request that memory has a fresh response for: nothing is opened, held or waited for. */
class KeptHit implements CacheState {
  readonly status = 'HIT';
  readonly allowsRanges = true;

  constructor(
    readonly key: string,
    readonly stored: StoredHead,
    private readonly zone: CacheZone,
    private readonly showsStatus: boolean,
  ) {}

  get cacheStatus(): string {
    if (!this.showsStatus) return '';
    return cacheStatusField({ forwarded: undefined, memberStatus: 0, isStored: false, freshFor: this.stored.validUntil - Date.now() });
  }

  count(request: HttpRequest): void {
    this.zone.figures.count(this.status, request);
  }
}

/** Responds from memory, if that takes no more than a look at it. Undefined: it takes a {@link CachedRequest}. */
export function respondFromMemory(
  request: HttpRequest,
  call: MemberCall,
  plan: CachePlan,
  zone: CacheZone,
  key: string,
): Result | undefined {
  if (zone.kept === undefined || plan.rules !== nginxRules || request.parent !== undefined || zone.purges.ready() !== undefined)
    return undefined;
  if (isTrue(plan.bypass, request)) return undefined;
  const now = request.startTime;
  const kept = zone.findKept(zone.digests.of(key), key, now);
  if (kept === undefined || kept.stored.vary !== '' || !isUsable(kept.stored, NO_TERMS, now) || kept.stored.validUntil <= now)
    return undefined;
  setCacheState(request, new KeptHit(key, kept.stored, zone, plan.showsStatus));
  request.atEnd(countHit);
  return sendWhole(call, request, plan.rules, kept.stored, kept.body);
}

function countHit(request: HttpRequest): void {
  const state = ownCacheState(request);
  if (state instanceof KeptHit) state.count(request);
}
