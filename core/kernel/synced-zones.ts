import { ownDirective, readDirective } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import { Signature } from '../contract/arguments.js';
import type { AnyArgContext, ZoneSync } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';
import type { Zone } from '../zone/zone.js';
import { mainDirectives } from './core-directives.js';

export const INTERVAL = 'zone_sync_interval';
const INTERVAL_SIGNATURE = new Signature(mainDirectives[INTERVAL]);
const DEFAULT_MS = 100;

/** A zone that a directive declares. */
export interface ModuleZone {
  readonly zone: Zone;
  /** How nodes share it; undefined: they do not. */
  readonly sync: ZoneSync | undefined;
  /** The `redis` block over which they do. */
  readonly redis: string;
}

/** The zones that nodes share, by the name of a `redis` block. */
export interface SyncedZones {
  readonly zones: ReadonlyMap<string, readonly Zone[]>;
  /** Milliseconds. */
  readonly interval: number;
}

export const NOT_SYNCED: SyncedZones = { zones: new Map(), interval: DEFAULT_MS };

/** The `redis` block that `sync` names. @throws ConfigError */
export function redisBlock(directive: Directive, name: string, root: Block): string {
  const names = Array.from(root.named('redis'), ({ args }) => args[0]?.text ?? '');
  const [first, ...others] = names;
  if (first === undefined)
    throw errorAt(directive, '"sync" needs a "redis" block', undefined, 'load_module modules/srv_redis_module.js; redis NAME { … }');
  if (name === '' && others.length > 0) throw errorAt(directive, '"sync" does not say which "redis" block', undefined, `sync=${first}`);
  if (name !== '' && !names.includes(name))
    throw errorAt(directive, `there is no redis "${name}"`, undefined, `one of: ${names.join(', ')}`);
  return name === '' ? first : name;
}

export function syncedZones(root: Block, declared: Iterable<ModuleZone>, args: AnyArgContext): SyncedZones {
  const zones = new Map<string, Zone[]>();
  for (const { zone, sync, redis } of declared) {
    if (sync === undefined) continue;
    const known = zones.get(redis);
    if (known === undefined) zones.set(redis, [zone]);
    else known.push(zone);
  }
  return zones.size === 0 ? NOT_SYNCED : { zones, interval: intervalOf(root, args) };
}

/** That of `http`, else that of the main level. */
function intervalOf(root: Block, args: AnyArgContext): number {
  const blocks = [...Array.from(root.named('http'), ({ block }) => block), root];
  const line = blocks.flatMap((block) => (block === undefined ? [] : [ownDirective(block, INTERVAL)])).find((found) => found !== undefined);
  return line === undefined ? DEFAULT_MS : (readDirective(INTERVAL_SIGNATURE, line, args) as number);
}
