import type { SpecRegistry } from '../config/registry.js';
import type { Directive } from '../module/tree.js';
import { keyIdentity } from './address.js';
import type { Draft } from './draft.js';
import type { Store } from './store.js';
import type { KeyRow, OverlayRow } from './store-tables.js';

interface KeyedBlock {
  readonly put: KeyRow[];
  readonly forget: KeyRow[];
  next: number;
}

/**
 * Gives the directives of files their lasting keys: the key they had, found by what they are and which of its equals they are; the key of
 * an API addition that has found its way into the file; or a new one that was never used.
 */
export class KeyRing {
  readonly #blocks = new Map<string, KeyedBlock>();

  constructor(
    private readonly registry: SpecRegistry,
    private readonly store: Store | undefined,
    /** API additions with a key, by the address of their block. */
    private readonly additions: ReadonlyMap<string, readonly OverlayRow[]>,
    private readonly parse: (row: OverlayRow) => Directive,
  ) {}

  assign(block: Draft): void {
    const keyed = (block.children ?? []).filter((child) => this.#isKeyed(child, block));
    if (keyed.length === 0) return;
    const { address } = block;
    const known = new Map(this.store?.keys.of(address).map((row) => [numbered(row.identity, row.occurrence), row]));
    const state: KeyedBlock = { put: [], forget: [], next: this.store?.keys.next(address) ?? 0 };
    const added = this.#additionsIn(block);
    const counts = new Map<string, number>();
    for (const child of keyed) {
      const identity = keyIdentity(child.directive, block.inside ?? 'main', this.registry);
      const occurrence = counts.get(identity) ?? 0;
      counts.set(identity, occurrence + 1);
      const row = known.get(numbered(identity, occurrence));
      known.delete(numbered(identity, occurrence));
      child.key = row?.key ?? added.get(numbered(identity, occurrence)) ?? state.next++;
      if (row === undefined) state.put.push({ identity, occurrence, key: child.key });
    }
    state.forget.push(...known.values());
    this.#blocks.set(address, state);
  }

  save({ keys }: Store): void {
    for (const [address, { put, forget, next }] of this.#blocks) {
      for (const row of forget) keys.delete(address, row);
      for (const row of put) keys.put(address, row);
      keys.setNext(address, next);
    }
  }

  #isKeyed(child: Draft, block: Draft): boolean {
    return block.inside !== undefined && this.registry.find(block.inside, child.directive.name)?.spec.keyed === true;
  }

  #additionsIn(block: Draft): Map<string, number> {
    const keys = new Map<string, number>();
    const counts = new Map<string, number>();
    for (const row of this.additions.get(block.address) ?? []) {
      const identity = keyIdentity(this.parse(row), block.inside ?? 'main', this.registry);
      const occurrence = counts.get(identity) ?? 0;
      counts.set(identity, occurrence + 1);
      if (row.key !== undefined) keys.set(numbered(identity, occurrence), row.key);
    }
    return keys;
  }
}

const numbered = (identity: string, occurrence: number): string => `${occurrence}:${identity}`;
