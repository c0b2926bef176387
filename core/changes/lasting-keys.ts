import type { SpecRegistry } from '../config/registry.js';
import type { ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
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
 * a line of the API that has found its way into the file; or a new one that was never used.
 */
export class KeyRing {
  readonly #blocks = new Map<string, KeyedBlock>();

  constructor(
    private readonly registry: SpecRegistry,
    private readonly store: Store | undefined,
    /** Lines with a key that the API wrote, by the address of their block. */
    private readonly written: ReadonlyMap<string, readonly OverlayRow[]>,
    private readonly parse: (row: OverlayRow) => Directive,
  ) {}

  /** @param elsewhere keys that the block's lines had in a place other than the file */
  assign(block: Draft, elsewhere: readonly KeyRow[]): void {
    const keyed = (block.children ?? []).filter((child) => this.#isKeyed(child, block));
    if (keyed.length === 0) return;
    const { address } = block;
    const known = new Map(this.store?.keys.of(address).map((row) => [numbered(row.identity, row.occurrence), row]));
    for (const row of elsewhere) known.set(numbered(row.identity, row.occurrence), row);
    const state: KeyedBlock = { put: [], forget: [], next: this.store?.keys.next(address) ?? 0 };
    const written = this.#writtenIn(block);
    const used = new Set<number>();
    const counts = new Map<string, number>();
    const strangers: { readonly child: Draft; readonly identity: string; readonly occurrence: number }[] = [];
    for (const child of keyed) {
      const identity = keyIdentity(child.directive, block.inside ?? 'main', this.registry);
      const occurrence = counts.get(identity) ?? 0;
      counts.set(identity, occurrence + 1);
      const row = known.get(numbered(identity, occurrence));
      known.delete(numbered(identity, occurrence));
      if (row === undefined) strangers.push({ child, identity, occurrence });
      else used.add((child.key = row.key));
    }
    for (const { child, identity, occurrence } of strangers) {
      const key = written.get(numbered(identity, occurrence));
      // Where the file still has the line that the API gave another address, the key is that line's.
      child.key = key === undefined || used.has(key) ? state.next++ : key;
      used.add(child.key);
      state.put.push({ identity, occurrence, key: child.key });
    }
    for (const row of known.values()) if (!elsewhere.includes(row)) state.forget.push(row);
    if (state.put.length > 0 || state.forget.length > 0) this.#blocks.set(address, state);
  }

  /** True if {@link save} writes anything. */
  get hasChanges(): boolean {
    return this.#blocks.size > 0;
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

  #writtenIn(block: Draft): Map<string, number> {
    const rows = (this.written.get(block.address) ?? []).flatMap((row) =>
      row.key === undefined ? [] : [{ key: row.key, directive: this.parse(row) }],
    );
    return new Map(keyRows(rows, block.inside ?? 'main', this.registry).map((row) => [numbered(row.identity, row.occurrence), row.key]));
  }
}

/** Identities of lines of one block from one reading of their file to the next, in order. */
export function keyRows(
  lines: readonly { readonly key: number; readonly directive: Directive }[],
  context: ContextName,
  registry: SpecRegistry,
): KeyRow[] {
  const counts = new Map<string, number>();
  return lines.map(({ key, directive }) => {
    const identity = keyIdentity(directive, context, registry);
    const occurrence = counts.get(identity) ?? 0;
    counts.set(identity, occurrence + 1);
    return { identity, occurrence, key };
  });
}

const numbered = (identity: string, occurrence: number): string => `${occurrence}:${identity}`;
