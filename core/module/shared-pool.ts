/** The account of the memory that zones of dynamic upstreams may take. */
import { sizeOf } from './args.js';
import { ApiError } from './control.js';
import type { Block, Directive } from './tree.js';

/** Bytes where the configuration does not say. */
const DEFAULT_SIZE = '128m';
/** The blocks whose upstreams share the memory. */
const ENGINES = ['http', 'stream'];

/**
 * The memory that zones of dynamic upstreams may take together (shared_slab_pool_size). An account, not memory: zones are made one by one
 * when they are needed, so that the pool can grow at a reload.
 */
export class SharedPool {
  #tree: Block | undefined;
  #used = 0;

  /**
   * @param isDynamic true for the upstreams whose zones count
   * @param replaced one that goes for it
   * @throws ApiError 507 `SharedPoolExhausted` if the zone of an upstream does not fit
   */
  assertRoom(upstream: Directive, tree: Block, isDynamic: (upstream: Directive) => boolean, replaced?: Directive): void {
    if (tree !== this.#tree) this.#count(tree, isDynamic);
    const needed = zoneSize(upstream);
    const limit = poolSize(tree);
    const used = this.#used - (replaced === undefined ? 0 : zoneSize(replaced));
    if (used + needed <= limit) return;
    throw new ApiError(
      507,
      'SharedPoolExhausted',
      `no memory for zone "${zoneName(upstream)}": it needs ${needed} bytes, ${Math.max(0, limit - used)} of ${limit} are free; ` +
        `raise shared_slab_pool_size to ${used + needed} at least and reload, or remove a dynamic upstream`,
    );
  }

  /** An upstream came or went with the change between two trees: nothing else has to be counted again. */
  follow(before: Block | undefined, after: Block, removed: Directive | undefined, added: Directive | undefined): void {
    if (before === undefined || before !== this.#tree) return;
    this.#tree = after;
    this.#used += (added === undefined ? 0 : zoneSize(added)) - (removed === undefined ? 0 : zoneSize(removed));
  }

  #count(tree: Block, isDynamic: (upstream: Directive) => boolean): void {
    this.#used = 0;
    for (const engine of ENGINES.flatMap((name) => [...tree.named(name)]))
      for (const upstream of engine.block?.named('upstream') ?? []) if (isDynamic(upstream)) this.#used += zoneSize(upstream);
    this.#tree = tree;
  }
}

function poolSize(tree: Block): number {
  const [line] = tree.named('shared_slab_pool_size');
  return sizeOf(line?.args[0]?.text ?? DEFAULT_SIZE) ?? 0;
}

const zoneName = (upstream: Directive): string => zoneOf(upstream)?.args[0]?.text ?? '';

/** Bytes of its zone; none if it uses that of another upstream, or what it says is no size: that is reported elsewhere. */
function zoneSize(upstream: Directive): number {
  return sizeOf(zoneOf(upstream)?.args[1]?.text ?? '') ?? 0;
}

export function zoneOf(upstream: Directive): Directive | undefined {
  const [zone] = upstream.block?.named('zone') ?? [];
  return zone;
}
