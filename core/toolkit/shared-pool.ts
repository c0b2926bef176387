/** The account of the memory that zones of dynamic upstreams may take. */
import { sizeOf } from '../contract/args.js';
import { ApiError } from '../contract/control.js';
import type { Block, BlockChanges, Directive } from '../contract/tree.js';

/** Bytes where the configuration does not say. */
const DEFAULT_SIZE = '128m';
/** The blocks whose upstreams share the memory. */
const ENGINES = ['http', 'stream'];

/**
 * The memory that zones of dynamic upstreams may take together (shared_slab_pool_size). An account, not memory: zones are made one by one
 * when they are needed, so that the pool can grow at a reload.
 */
export class SharedPool {
  /** The blocks of the engines as they were looked at last. */
  readonly #blocks = new Map<string, Block>();
  /** Bytes of the zones that count, by the id of their upstream. */
  readonly #sizes = new Map<number, number>();
  #used = 0;

  /**
   * @param isDynamic true for the upstreams whose zones count
   * @param replaced one that goes for it
   * @throws ApiError 507 `SharedPoolExhausted` if the zone of an upstream does not fit
   */
  assertRoom(upstream: Directive, tree: Block, isDynamic: (upstream: Directive) => boolean, replaced?: Directive): void {
    const needed = zoneSize(upstream) - (replaced === undefined ? 0 : zoneSize(replaced));
    const limit = poolSize(tree);
    this.#follow(tree, isDynamic);
    if (this.#used + needed <= limit) return;
    // Upstreams that were written into the files since do not count any more.
    this.#countAgain(tree, isDynamic);
    if (this.#used + needed <= limit) return;
    const used = this.#used - (replaced === undefined ? 0 : zoneSize(replaced));
    throw new ApiError(
      507,
      'SharedPoolExhausted',
      `no memory for zone "${zoneName(upstream)}": it needs ${zoneSize(upstream)} bytes, ${Math.max(0, limit - used)} of ${limit} are free; ` +
        `raise shared_slab_pool_size to ${this.#used + needed} at least and reload, or remove a dynamic upstream`,
    );
  }

  #countAgain(tree: Block, isDynamic: (upstream: Directive) => boolean): void {
    this.#blocks.clear();
    this.#sizes.clear();
    this.#used = 0;
    this.#follow(tree, isDynamic);
  }

  /** Counts what has come and gone since: among 10,000 upstreams no others are looked at. */
  #follow(tree: Block, isDynamic: (upstream: Directive) => boolean): void {
    for (const name of ENGINES) {
      const [engine] = tree.named(name);
      const [before, now] = [this.#blocks.get(name), engine?.block];
      const { gone, come } = changesOf(before, now);
      for (const { id } of gone) this.#count(id, 0);
      for (const one of come) if (one.name === 'upstream' && isDynamic(one)) this.#count(one.id, zoneSize(one));
      if (now === undefined) this.#blocks.delete(name);
      else this.#blocks.set(name, now);
    }
  }

  #count(id: number, size: number): void {
    this.#used += size - (this.#sizes.get(id) ?? 0);
    if (size > 0) this.#sizes.set(id, size);
    else this.#sizes.delete(id);
  }
}

/** Directives added to a block and removed from it, since an earlier version. */
export function changesOf(before: Block | undefined, now: Block | undefined): BlockChanges {
  if (before === undefined || now === undefined) return { gone: before ?? [], come: now ?? [] };
  return now.changesSince(before);
}

function poolSize(tree: Block): number {
  const [line] = tree.named('shared_slab_pool_size');
  return sizeOf(line?.args[0]?.text ?? DEFAULT_SIZE) ?? 0;
}

/** Bytes of its zone; none if it uses that of another upstream, or what it says is not a size: that is reported elsewhere. */
export function zoneSize(upstream: Directive): number {
  return sizeOf(zoneOf(upstream)?.args[1]?.text ?? '') ?? 0;
}

/** Empty: it has none. */
export const zoneName = (upstream: Directive): string => zoneOf(upstream)?.args[0]?.text ?? '';

export function zoneOf(upstream: Directive): Directive | undefined {
  const [zone] = upstream.block?.named('zone') ?? [];
  return zone;
}
