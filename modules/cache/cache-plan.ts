import type { Template } from '../../core/contract/http.js';
import type { CacheZone } from './cache-zone.js';
import type { CacheConf, StaleCase } from './directives.js';
import type { CachingRules, Validity } from './rules.js';

/** Settings of one location for one protocol to members. */
export interface CachePlan {
  readonly conf: CacheConf;
  readonly rules: CachingRules;
  readonly validity: Validity;
  readonly stale: ReadonlySet<StaleCase>;
  readonly methods: ReadonlySet<string>;
  readonly key: Template;
  /** Values of the configuration that each hit needs: a view of it would look for them every time. */
  readonly name: Template;
  readonly bypass: CacheConf['cache_bypass'];
  readonly purge: CacheConf['cache_purge'];
  readonly maxRangeOffset: number | undefined;
  readonly showsStatus: boolean;
  /** The configuration has none. */
  readonly isDefaultKey: boolean;
  /** Undefined: the name is none of a cache. */
  zone(name: string): CacheZone | undefined;
}
