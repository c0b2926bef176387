import { printDirective } from '../config/print.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree } from '../config/tree.js';
import type { ArgContext } from '../module/spec.js';
import type { Block, Directive } from '../module/tree.js';
import { Addresses, addressIn, below, keyIdentity, stepOf } from './address.js';
import type { ResolvedEdit } from './edits.js';
import { heldFileOf, type HeldFile } from './held-files.js';
import type { Store } from './store.js';
import type { OverlayRow } from './store-tables.js';

export interface JournalChange {
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly edits: readonly ResolvedEdit[];
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
}

/** For the history: one address before and after. */
export interface AddressChange {
  readonly address: string;
  readonly before?: string;
  readonly after?: string;
}

/** One transaction as it is written. */
export class JournalEntry {
  readonly changes: AddressChange[] = [];
  readonly #moved = new Set<number>();
  /** In the tree before, addresses count as they did before. */
  readonly #before: Addresses;
  readonly #after: Addresses;
  /** By the id of what has the block. */
  readonly #heldFiles = new Map<number, HeldFile | undefined>();
  /** Whether an address that this transaction wrote was removed before it. */
  readonly #removedBefore = new Map<string, boolean>();

  constructor(
    private readonly store: Store,
    private readonly change: JournalChange,
    removed: (address: string) => boolean,
    private readonly nextSeq: () => number,
  ) {
    const { before, after, registry } = change;
    this.#before = new Addresses(before, registry, (address) => this.#removedBefore.get(address) ?? removed(address));
    this.#after = new Addresses(after, registry, removed);
  }

  record(edit: ResolvedEdit): void {
    if (edit.operations.length === 0) return;
    const { before, after } = this.change;
    const moved = this.#renamed(edit);
    if (moved !== undefined) {
      this.#move(moved);
      this.#after.forget();
      return;
    }
    const [old, now] = [before.byId(edit.id), after.byId(edit.id)];
    if (edit.op === 'add' && now !== undefined) this.#add(now);
    else if (edit.op === 'replace' && old !== undefined && now !== undefined) this.#replace(old, now);
    else if (edit.op === 'remove' && old !== undefined) this.#remove(old);
    if (old?.block !== undefined || now?.block !== undefined) this.#after.forget();
  }

  /**
   * The outermost directive on the way to the edit that is called something else afterwards (a server whose names changed). Nothing would
   * be found below its address at the next start, so it is written down as a whole.
   */
  #renamed(edit: ResolvedEdit): Directive | undefined {
    const { before, after, registry } = this.change;
    const [first] = edit.operations;
    const inner = edit.op === 'add' && first?.op === 'add' ? first.parent : edit.id;
    return before.pathOf(inner).find((directive) => {
      const now = after.byId(directive.id);
      const context = registry.contextOf(before, directive.id);
      return (
        now !== undefined && context !== undefined && stepOf(directive, context, registry).text !== stepOf(now, context, registry).text
      );
    });
  }

  #move(old: Directive): void {
    if (this.#moved.has(old.id)) return;
    this.#moved.add(old.id);
    const now = this.change.after.byId(old.id);
    this.#remove(old);
    if (now !== undefined) this.#add(now);
  }

  #add(now: Directive): void {
    const address = this.#after.of(now.id);
    const known = this.store.overlay.get(address);
    const op = known?.op === 'remove' && known.was !== undefined ? 'replace' : 'add';
    const text = printDirective(now);
    this.#put({ address, op, parent: this.#after.around(now.id), text, was: known?.was, key: now.key }, known);
    this.#keepKeys(now, address);
    this.changes.push({ address, after: text });
  }

  #replace(old: Directive, now: Directive): void {
    const address = this.#before.of(old.id);
    const known = this.store.overlay.get(address);
    const text = printDirective(now);
    const was = known === undefined ? printDirective(old) : known.was;
    this.#forgetBelow(address);
    if (text === was && this.#holder(old) === undefined) this.store.overlay.delete(address);
    else {
      // An addition keeps its place among the additions.
      const row = {
        address,
        op: known?.op === 'add' ? 'add' : 'replace',
        parent: this.#before.around(old.id),
        text,
        was,
      } as const;
      this.#put({ ...row, key: now.key }, known, known?.op === 'add' ? known.seq : undefined);
    }
    this.#keepKeys(now, address);
    this.changes.push({ address, before: printDirective(old), after: text });
  }

  #remove(old: Directive): void {
    const address = this.#before.of(old.id);
    const known = this.store.overlay.get(address);
    const text = printDirective(old);
    this.#forgetBelow(address);
    // A file that is written later, or equal directives that are counted, need the row until they are read again.
    if (known?.op === 'add' && this.#holder(old) === undefined && !this.#isCounted(old)) this.store.overlay.delete(address);
    else {
      const was = known === undefined ? text : known.was;
      this.#put({ address, op: 'remove', parent: this.#before.around(old.id), text, was, key: old.key }, known);
    }
    this.changes.push({ address, before: text });
  }

  /** @param known what the journal had at this address */
  #put(row: Omit<OverlayRow, 'seq'>, known: OverlayRow | undefined, seq = this.nextSeq()): void {
    if (!this.#removedBefore.has(row.address)) this.#removedBefore.set(row.address, known?.op === 'remove');
    this.store.overlay.put({ ...row, seq });
  }

  #forgetBelow(address: string): void {
    this.store.overlay.deleteBetween(...below(address));
  }

  /** The directive that holds such directives in a file of its own. */
  #holder(directive: Directive): Directive | undefined {
    const parent = this.change.before.parentOf(directive.id);
    if (parent?.block === undefined) return undefined;
    if (!this.#heldFiles.has(parent.id)) this.#heldFiles.set(parent.id, this.#heldFileIn(parent.block, directive.id));
    const held = this.#heldFiles.get(parent.id);
    return held?.holds === directive.name ? held.directive : undefined;
  }

  #heldFileIn(block: Block, id: number): HeldFile | undefined {
    const context = this.change.registry.contextOf(this.change.before, id);
    return context && heldFileOf(block, context, this.change);
  }

  #isCounted(directive: Directive): boolean {
    const { before, registry } = this.change;
    const context = registry.contextOf(before, directive.id);
    return context !== undefined && stepOf(directive, context, registry).counted;
  }

  /** Keys inside a block that is journalled as text are found again by what has them. */
  #keepKeys(directive: Directive, address: string): void {
    if (directive.block === undefined) return;
    const { after, registry } = this.change;
    const context = registry.contextWithin(after, directive.id);
    if (context === undefined || context === 'entries') return;
    const counts = new Map<string, number>();
    for (const child of directive.block) {
      if (child.key === undefined) {
        if (child.block !== undefined) this.#keepKeys(child, addressIn(address, stepOf(child, context, registry).text));
        continue;
      }
      const identity = keyIdentity(child, context, registry);
      const occurrence = counts.get(identity) ?? 0;
      counts.set(identity, occurrence + 1);
      this.store.keys.put(address, { identity, occurrence, key: child.key });
    }
  }
}
