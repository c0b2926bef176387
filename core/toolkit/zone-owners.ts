import { changesOf, zoneName } from './shared-pool.js';
import type { Block, Directive } from '../contract/tree.js';

/** Upstreams of an engine by their zone. Follows the block of the engine: among 10,000 upstreams only changed ones are looked at. */
export class ZoneOwners {
  #block: Block | undefined;
  /** Ids of upstreams by the name of their zone. */
  readonly #owners = new Map<string, Set<number>>();

  /** An upstream with that zone other than `own`. */
  other(zone: string, block: Block, own: Directive | undefined): number | undefined {
    this.#follow(block);
    for (const id of this.#owners.get(zone) ?? []) if (id !== own?.id) return id;
    return undefined;
  }

  #follow(block: Block): void {
    const { gone, come } = changesOf(this.#block, block);
    for (const upstream of gone) this.#owners.get(zoneName(upstream))?.delete(upstream.id);
    for (const upstream of come) {
      if (upstream.name !== 'upstream') continue;
      const owners = this.#owners.get(zoneName(upstream)) ?? new Set();
      this.#owners.set(zoneName(upstream), owners.add(upstream.id));
    }
    for (const upstream of gone) if (this.#owners.get(zoneName(upstream))?.size === 0) this.#owners.delete(zoneName(upstream));
    this.#block = block;
  }
}
