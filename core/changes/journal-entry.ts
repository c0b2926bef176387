import { exactDirective } from '../contract/print.js';
import type { SpecRegistry } from '../config/registry.js';
import { ROOT_ID, type ConfigTree } from '../config/tree.js';
import type { ArgContext, ContextName } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';
import { Addresses, addressIn, below, keyIdentity, numberedStep, stepOf, stepsIn } from './address.js';
import type { ResolvedEdit } from './edits.js';
import { saysTheSame, textWithout } from './file-text.js';
import { isOrderedLine, type LineTexts, notedLines, type NotedLine, placeAmongLines } from './ordered-lines.js';
import { placeOfLine } from './state-line-place.js';
import { stateFileOf } from './state-files.js';
import type { Store } from './store.js';
import type { OverlayRow } from './store-tables.js';

export interface JournalChange {
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly edits: readonly ResolvedEdit[];
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
  /** Ids of blocks whose lines an earlier part of the same transaction has noted whole; adds the ones that are noted now. */
  readonly noted: Set<number>;
}

/** For the history: one address before and after. */
export interface AddressChange {
  readonly address: string;
  readonly before?: string;
  readonly after?: string;
  /**
   * Of a line whose order among others may matter: its place among them, the first is 0. Where one step changes several lines of a block: all such
   * lines that the block had before, and `true` where an earlier change of the transaction has them.
   */
  readonly lines?: number | readonly NotedLine[] | true;
  /** Of what went: the last step of the address of what stood after it; absent: it was the last one. */
  readonly next?: string;
}

/** One transaction as it is written. */
export class JournalEntry {
  readonly changes: AddressChange[] = [];
  readonly #moved = new Set<number>();
  /** Ids of directives of the file that were removed and are back. */
  readonly #cameBack = new Set<number>();
  /** In the tree before, addresses count as they did before. */
  readonly #before: Addresses;
  readonly #after: Addresses;
  /** By the id of what has the block: the directives that a state file holds of it. */
  readonly #held = new Map<number, string | undefined>();
  /** True if an address that this transaction wrote was removed before it. */
  readonly #removedBefore = new Map<string, boolean>();
  /** By the id of a block: how many of the edits are about ordered lines of it. */
  readonly #lineEdits: ReadonlyMap<number, number>;

  constructor(
    private readonly store: Store,
    private readonly change: JournalChange,
    private readonly version: number,
    removed: (address: string) => boolean,
    private readonly nextSeq: () => number,
    private readonly texts: LineTexts,
  ) {
    const { before, after, registry } = change;
    this.#before = new Addresses(before, registry, (address) => this.#removedBefore.get(address) ?? removed(address));
    this.#after = new Addresses(after, registry, removed);
    this.#lineEdits = countLineEdits(change);
  }

  record(edit: ResolvedEdit): void {
    if (edit.operations.length === 0) return;
    const { before, after } = this.change;
    const [old, now] = [before.byId(edit.id), after.byId(edit.id)];
    const line = now ?? old;
    const first = this.changes.length;
    const moved = this.#renamed(edit);
    if (moved !== undefined) {
      this.#move(moved);
      this.#after.forget();
      if (line !== undefined && moved.id === edit.id) this.#noteLines(line, first);
      return;
    }
    if (line !== undefined && this.#isStateLine(line)) this.#recordLine(line, old, now, siblingOf(edit) !== undefined);
    else if (edit.op === 'add' && now !== undefined) this.#add(now, this.#siblingAfter(now, siblingOf(edit)), edit.address);
    else if (edit.op === 'replace' && old !== undefined && now !== undefined) this.#replace(old, now);
    else if (edit.op === 'remove' && old !== undefined) this.#remove(old);
    if (old?.block !== undefined || now?.block !== undefined) this.#after.forget();
    if (line !== undefined) this.#noteLines(line, first);
    if (edit.goesBack === true) this.#settle(edit.id);
  }

  /** A block that a rollback has made as the file has it needs no rows: neither for itself nor for what is in it. */
  #settle(id: number): void {
    const { before, after } = this.change;
    const tree = after.byId(id) === undefined ? before : after;
    for (const { id: outer } of tree.pathOf(id).slice(0, -1)) {
      const block = after.byId(outer);
      if (block === undefined) return;
      const address = this.#after.of(outer);
      const known = this.store.overlay.get(address);
      if (known?.op !== 'replace' || known.was === undefined || !saysTheSame(exactDirective(block), known.was, block)) continue;
      this.#forgetBelow(block, address);
      this.store.overlay.delete(address);
      this.#after.forget();
      return;
    }
  }

  /** Notes how the lines around a change were ordered. @param first of the changes that are about the line */
  #noteLines(line: Directive, first: number): void {
    const { before, after, registry } = this.change;
    const tree = after.byId(line.id) === undefined ? before : after;
    const context = registry.contextOf(tree, line.id);
    if (!isOrderedLine(line, context, registry)) return;
    const parent = tree.parentOf(line.id)?.id ?? ROOT_ID;
    const block = before.byId(parent)?.block;
    if (block === undefined || context === undefined) return;
    for (const [offset, change] of this.changes.slice(first).entries()) {
      this.changes[first + offset] = { ...change, lines: this.#lines(line, tree, context) };
    }
  }

  #lines({ id }: Directive, tree: ConfigTree, context: ContextName): NonNullable<AddressChange['lines']> {
    const { before, registry, noted } = this.change;
    const parent = tree.parentOf(id)?.id ?? ROOT_ID;
    const blockIn = (version: ConfigTree): Block => version.byId(parent)?.block ?? version.root;
    // The other lines of the block would be the same in every entry of the history.
    if (this.#lineEdits.get(parent) === 1) return placeAmongLines(id, blockIn(tree), context, registry);
    if (noted.has(parent)) return true;
    noted.add(parent);
    return notedLines(blockIn(before), context, registry, (other) => stepsIn(this.#before.of(other.id)).at(-1) ?? '', this.texts);
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
    if (now !== undefined) this.#add(now, this.#following(now)?.id);
  }

  /**
   * @param sibling id of the directive that it was put in front of
   * @param back where it stood, if it comes back
   */
  #add(now: Directive, sibling: number | undefined, back?: string): void {
    const address = back ?? this.#after.of(now.id);
    const known = this.store.overlay.get(address);
    if (back !== undefined) this.#after.forget();
    if (known?.op === 'remove' && known.was === exactDirective(now)) {
      this.#restored(address, known.was);
      this.#placeInFrontOf(now, address);
      return;
    }
    const op = known?.op === 'remove' && known.was !== undefined ? 'replace' : 'add';
    if (op === 'replace') this.#placeInFrontOf(now, address);
    const text = exactDirective(now);
    const place = sibling === undefined ? {} : { sibling: this.#after.of(sibling), previous: this.#previousAddress(now) };
    this.#put({ address, op, parent: this.#after.around(now.id), text, was: known?.was, key: now.key, ...place }, known);
    this.#keepKeys(now, address);
    this.changes.push({ address, after: text });
  }

  /** The directive is as in the file again: the journal needs no row for it. */
  #restored(address: string, text: string): void {
    this.store.overlay.delete(address);
    this.changes.push({ address, after: text });
  }

  #replace(old: Directive, now: Directive): void {
    const address = this.#before.of(old.id);
    const known = this.store.overlay.get(address);
    const text = exactDirective(now);
    const was = known === undefined ? this.#textOfFile(old, address) : known.was;
    this.#forgetBelow(old, address);
    if (was !== undefined && saysTheSame(text, was, now)) this.store.overlay.delete(address);
    else {
      // An addition keeps its place among the additions.
      const row = {
        sibling: known?.sibling,
        previous: known?.previous,
        address,
        op: known?.op === 'add' ? 'add' : 'replace',
        parent: this.#before.around(old.id),
        text,
        was,
      } as const;
      this.#put({ ...row, key: now.key }, known, known?.op === 'add' ? known.seq : undefined);
    }
    this.#keepKeys(now, address);
    this.changes.push({ address, before: exactDirective(old), after: text });
  }

  #remove(old: Directive): void {
    const address = this.#before.of(old.id);
    const known = this.store.overlay.get(address);
    const text = exactDirective(old);
    const next = this.#nextStep(old);
    this.#keepPlaces(old, address);
    const textOfFile = this.#textOfFile(old, address);
    this.#forgetBelow(old, address);
    if (known?.op === 'add' && !this.#isCountedOn(old, known)) this.#forgetAddition(known);
    else {
      const was = known === undefined ? textOfFile : known.was;
      this.#put({ address, op: 'remove', parent: this.#before.around(old.id), text, was, key: old.key }, known);
    }
    this.changes.push({ address, before: text, ...next });
  }

  /** Directive after a removed one. */
  #nextStep(old: Directive): Pick<AddressChange, 'next'> {
    const next = this.change.before.beside(old.id, 1);
    const step = next && stepsIn(this.#before.of(next.id)).at(-1);
    return step === undefined ? {} : { next: step };
  }

  /** Directives placed in front of a removed one are in front of the next one then. */
  #keepPlaces(old: Directive, address: string): void {
    const additions = this.store.overlay.inFrontOf(address);
    if (additions.length === 0) return;
    const next = this.#following(old);
    this.#placeAgain(additions, next && this.#after.of(next.id));
  }

  /**
   * When a directive of the file comes back, additions before it are in front of it again: they were placed in front of what followed it,
   * which has it between them now.
   */
  #placeInFrontOf(now: Directive, address: string): void {
    const { before, after } = this.change;
    const { overlay } = this.store;
    this.#cameBack.add(now.id);
    const passed = new Set([address]);
    const additions: OverlayRow[] = [];
    for (let at = after.beside(now.id, -1); at !== undefined && !this.#cameBack.has(at.id); at = after.beside(at.id, -1)) {
      const place = this.#after.of(at.id);
      const row = overlay.get(place);
      if (row?.op === 'add' && !passed.has(row.sibling ?? '')) additions.unshift(row);
      else if (row?.op !== 'add' && before.byId(at.id) !== undefined) break;
      passed.add(place);
    }
    this.#placeAgain(additions, address);
  }

  /** They come after their sibling in the order of changes, and what is in front of them after them. */
  #placeAgain(rows: readonly OverlayRow[], sibling: string | undefined): void {
    for (const row of rows) {
      this.store.overlay.put({ ...row, sibling, seq: this.nextSeq() });
      this.#placeAgain(this.store.overlay.inFrontOf(row.address), row.address);
    }
  }

  /** The directive that it was placed in front of may have been removed since. */
  #siblingAfter(now: Directive, sibling: number | undefined): number | undefined {
    const isThere = sibling === undefined || this.change.after.byId(sibling) !== undefined;
    return isThere ? sibling : this.change.after.beside(now.id, 1)?.id;
  }

  #previousAddress(now: Directive): string | undefined {
    const previous = this.change.after.beside(now.id, -1);
    return previous && this.#after.of(previous.id);
  }

  /** The next directive of its block that is there after the change. */
  #following({ id }: Directive): Directive | undefined {
    const { before, after } = this.change;
    const tree = before.byId(id) === undefined ? after : before;
    let next = tree.beside(id, 1);
    while (next !== undefined && after.byId(next.id) === undefined) next = tree.beside(next.id, 1);
    return next;
  }

  /** @param known what the journal had at this address */
  #put(row: Omit<OverlayRow, 'seq'>, known: OverlayRow | undefined, seq = this.nextSeq()): void {
    if (!this.#removedBefore.has(row.address)) this.#removedBefore.set(row.address, known?.op === 'remove');
    this.store.overlay.put({ ...row, seq });
  }

  #forgetBelow({ block }: Directive, address: string): void {
    if (block !== undefined) this.store.overlay.deleteBetween(...below(address));
  }

  /**
   * Text of the file where the API changes a directive for the first time. If it changed the content of the block before, in a way that
   * does not keep the former block, it is unknown until the next start: the line end makes it equal to no directive, so that a restored one
   * is not mistaken for that of the file.
   */
  #textOfFile(old: Directive, address: string): string {
    const text = exactDirective(old);
    const rows = old.block === undefined ? [] : this.store.overlay.between(...below(address));
    return rows.length === 0 ? text : (textWithout(rows, old, address) ?? `${text}\n`);
  }

  /** True if a state file holds it: the store has it among the lines of its block then, with all others of the file. */
  #isStateLine(directive: Directive): boolean {
    const { before, after } = this.change;
    const tree = after.byId(directive.id) === undefined ? before : after;
    const parent = tree.parentOf(directive.id);
    if (parent === undefined || directive.key === undefined) return false;
    if (!this.#held.has(parent.id)) this.#held.set(parent.id, this.#heldIn(tree, parent));
    return this.#held.get(parent.id) === directive.name;
  }

  #heldIn(tree: ConfigTree, { id, block }: Directive): string | undefined {
    const context = this.change.registry.contextWithin(tree, id);
    return block && context && stateFileOf(block, context, this.change)?.holds;
  }

  /** A new line comes last, as no key in its block was greater than its own, or between others. */
  #recordLine({ id, key = -1 }: Directive, old: Directive | undefined, now: Directive | undefined, isBetween: boolean): void {
    const { store, version } = this;
    const addresses = now === undefined ? this.#before : this.#after;
    const block = addresses.around(id);
    const none = { written: undefined, since: 0, old: undefined, next: undefined };
    const known = store.stateLines.get(block, key) ?? { block, key, ...none, place: key, born: version };
    const text = now && exactDirective(now);
    const place = isBetween && now !== undefined ? placeOfLine(store.stateLines, block, this.#linesAround(now), key) : known.place;
    store.stateLines.put({ ...known, place, text, changed: version });
    this.changes.push({
      address: addresses.of(id),
      ...(old && { before: exactDirective(old) }),
      ...(text !== undefined && { after: text }),
      ...(old && now === undefined && this.#nextStep(old)),
    });
  }

  /** Keys of all lines of the state file, in order. */
  #linesAround({ id, name }: Directive): readonly number[] {
    const lines = this.change.after.parentOf(id)?.block?.named(name) ?? [];
    return Array.from(lines, ({ key = -1 }) => key);
  }

  /** True if equal directives are after an addition that goes: their numbers count it, so its row stays. */
  #isCountedOn(old: Directive, { address, parent, sibling }: OverlayRow): boolean {
    if (!this.#isCounted(old)) return false;
    const { number, text } = numberedStep(address);
    return sibling !== undefined || this.store.overlay.get(addressIn(parent, text, number + 1)) !== undefined;
  }

  /** Nothing counts its row any more, nor those of additions in front of it that went before. */
  #forgetAddition({ address, parent }: OverlayRow): void {
    const { overlay } = this.store;
    overlay.delete(address);
    const { number, text } = numberedStep(address);
    for (let before = number - 1; before >= 0; before--) {
      const row = overlay.get(addressIn(parent, text, before));
      if (row?.op !== 'remove' || row.was !== undefined) return;
      if (!this.#removedBefore.has(row.address)) this.#removedBefore.set(row.address, true);
      overlay.delete(row.address);
    }
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

function countLineEdits({ before, after, edits, registry }: JournalChange): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { id } of edits) {
    const tree = after.byId(id) === undefined ? before : after;
    const line = tree.byId(id);
    if (line === undefined || !isOrderedLine(line, registry.contextOf(tree, id), registry)) continue;
    const parent = tree.parentOf(id)?.id ?? ROOT_ID;
    counts.set(parent, (counts.get(parent) ?? 0) + 1);
  }
  return counts;
}

function siblingOf({ operations }: ResolvedEdit): number | undefined {
  const [first] = operations;
  return first?.op === 'add' ? first.before : undefined;
}
