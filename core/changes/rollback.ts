/** The way back to an earlier version: what transactions wrote into the history, turned around. */
import { diffDirective } from '../config/diff.js';
import { ROOT_ID, type ConfigTree, type DirectiveData, type TreeOperation } from '../config/tree.js';
import { toDirectives } from '../config/tree-draft.js';
import { ApiError } from '../contract/control.js';
import { exactDirective } from '../contract/print.js';
import type { ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { Addresses, addressOf, blockAt, childAt, parentAddress, readable, ROOT_ADDRESS, stepsIn, type BlockAt } from './address.js';
import { keyedOperation, withKeys, type EditSurroundings, type ResolvedEdit } from './edits.js';
import type { AddressChange } from './journal-entry.js';
import { lineChanges, orderedLines, textOf, undoLine, type OrderedLineChange, type NotedLine } from './ordered-lines.js';
import { parseDirective } from './parse-directive.js';

export interface RollbackSurroundings extends EditSurroundings {
  /** True if the journal says that what the file has at an address was removed. */
  readonly removed: (address: string) => boolean;
}

/**
 * Edits that take changes back.
 * @param changes of all transactions in question, the newest first
 * @throws ApiError 409 `RollbackImpossible` when what a change is about stood in a block that is not there any more
 */
export function rollbackEdits(changes: Iterable<AddressChange>, around: RollbackSurroundings): ResolvedEdit[] {
  const { places, lists } = wantedPlaces([...changes].toReversed());
  const rollback = new Rollback(around);
  // The content of a restored block is corrected after it.
  const levels = Map.groupBy(places.values(), ({ steps }) => steps.length);
  for (const [, level] of [...levels].toSorted(([a], [b]) => a - b)) rollback.restore(level);
  for (const [block, past] of lists) rollback.restoreLines(block, past);
  return rollback.edits;
}

/** How everything was before the first of the changes, which are given the oldest first. */
function wantedPlaces(changes: readonly AddressChange[]) {
  const places = new Map<string, WantedPlace>();
  /** Lines whose order may matter, by the address of their block. */
  const lists = new Map<string, LinesPast>();
  const nexts = new Map<string, string>();
  for (const change of changes) {
    const { address, before, after, next, lines } = change;
    // How a block was says how all in it was.
    if (isWithinAny(address, places)) {
      const known = places.get(address);
      if (known !== undefined && !isWithinAny(parentAddress(address), places)) places.set(address, { ...known, last: after });
      if (after === undefined && places.has(address) && !nexts.has(address)) nexts.set(address, next ?? '');
    } else if (lines === undefined) {
      places.set(address, { address, text: before, last: after, steps: stepsIn(address) });
      if (after === undefined) nexts.set(address, next ?? '');
    } else if (lines !== true) {
      const block = parentAddress(address);
      const past = lists.get(block) ?? { changes: [], lines: undefined };
      if (!lists.has(block)) lists.set(block, past);
      if (past.lines !== undefined) continue;
      if (typeof lines === 'number') past.changes.push({ place: lines, before, after, next });
      else past.lines = lines;
    }
  }
  // The last removal is restored first: then each line that another one is placed in front of exists.
  for (const [address, next] of [...nexts].toReversed()) {
    const place = places.get(address);
    if (place === undefined) continue;
    places.delete(address);
    const following = nextThatComes(parentAddress(address), next, places, nexts);
    places.set(address, following === undefined ? place : { ...place, next: following });
  }
  return { places, lists };
}

/**
 * Address of the directive that a restored one is put in front of: what stood after it, or, where that was added later and is gone, what stood
 * after that. Undefined: it comes last.
 * @param step of what stood after it
 * @param nexts the same step of everything that went, by its address
 */
function nextThatComes(
  parent: string,
  step: string,
  places: ReadonlyMap<string, WantedPlace>,
  nexts: ReadonlyMap<string, string>,
): string | undefined {
  const passed = new Set<string>();
  let next = step;
  while (next !== '' && !passed.has(next)) {
    passed.add(next);
    const address = addressOf(parent, next);
    const place = places.get(address);
    const isGone = place !== undefined && place.text === undefined && place.last === undefined;
    if (!isGone) return address;
    next = nexts.get(address) ?? '';
  }
  return undefined;
}

/** True if it is one of the addresses, or below one. */
function isWithinAny(address: string, places: ReadonlyMap<string, unknown>): boolean {
  let block = ROOT_ADDRESS;
  return stepsIn(address).some((step) => places.has((block = addressOf(block, step))));
}

/** Former lines of a block, as far as the changes in question say it. */
interface LinesPast {
  /** The first changes, the oldest first. */
  readonly changes: OrderedLineChange[];
  /** The lines after these changes; undefined: those of the configuration as it is. */
  lines: readonly NotedLine[] | undefined;
}

interface WantedPlace {
  readonly address: string;
  /** Undefined: there was nothing. */
  readonly text: string | undefined;
  /** How it was after the changes of it, before one of a whole block around it. */
  readonly last: string | undefined;
  readonly steps: readonly string[];
  /** Address of what stood after it; undefined: it was the last one, or did not go. */
  readonly next?: string;
}

/** Place of a line. */
interface LinePlace {
  /** By id: the order of the block. */
  readonly places: ReadonlyMap<number, number>;
  /** Ids of the lines around it; undefined: it is the first or the last one. */
  readonly previous: number | undefined;
  readonly following: number | undefined;
}

/** For each line the id of the last one before it that stays. */
function previousOf(kept: readonly (Directive | undefined)[]): readonly (number | undefined)[] {
  let last: number | undefined;
  return kept.map((line) => {
    const previous = last;
    last = line?.id ?? last;
    return previous;
  });
}

/** The place of a line in front of one with a place; existing lines have whole numbers. @param place undefined: at the end */
function inFrontOf(place = Infinity): number {
  return Number.isInteger(place) ? place - 0.5 : place;
}

/** Key at the end of an address. */
const KEYED = /@(\d+)$/;

/** Goes back address by address, on trees that have what came before. */
class Rollback {
  readonly edits: (ResolvedEdit & { readonly operations: TreeOperation[] })[] = [];
  /** By the id of what comes back or changes: where its edit is. */
  readonly #owners = new Map<number, number>();
  readonly #restored = new Set<string>();
  #tree: ConfigTree;

  constructor(private readonly around: RollbackSurroundings) {
    this.#tree = around.tree;
  }

  /**
   * Directives of one depth. Removals come last: a directive that is restored may belong in front of one.
   * @throws ApiError 409 `RollbackImpossible`
   */
  restore(places: readonly WantedPlace[]): void {
    const level = new Map(places.map((place) => [place.address, place]));
    // A restored directive changes the numbers in addresses of its equals: all are looked up before.
    const ids = this.#idsOf(places);
    const done = new Set<WantedPlace>();
    for (const place of places) {
      const chain: WantedPlace[] = [];
      for (let at: WantedPlace | undefined = place; at !== undefined && !done.has(at); at = level.get(at.next ?? '')) {
        done.add(at);
        chain.push(at);
      }
      for (const at of chain.toReversed()) if (at.text !== undefined) this.#restore(at, at.text, ids);
    }
    for (const { address, text } of places) {
      const target = text === undefined ? this.#tree.byId(ids.get(address) ?? ROOT_ID) : undefined;
      if (target !== undefined) this.#remove(target);
    }
  }

  /** By address: the directive there, and the one after it. */
  #idsOf(places: readonly WantedPlace[]): Map<string, number> {
    const ids = new Map<string, number>();
    /** By the address of a block: the lines in it by their texts. */
    const texts: Record<string, Map<string, Directive[]>> = {};
    for (const { address, steps, next, last } of places) {
      const parent = this.#blockAt(steps.slice(0, -1));
      for (const at of [address, next]) {
        const found = at === undefined || ids.has(at) ? undefined : parent && this.#childAt(parent, at);
        if (at !== undefined && found !== undefined) ids.set(at, found.id);
      }
      if (parent === undefined || last === undefined || ids.has(address) || !KEYED.test(steps.at(-1) ?? '')) continue;
      // A line of a block that was restored as a whole has another key.
      const equals = (texts[parent.address] ??= Map.groupBy(parent.block, (line) => exactDirective(line))).get(last);
      const same = equals?.shift();
      if (same !== undefined) ids.set(address, same.id);
    }
    return ids;
  }

  #restore({ address, steps, next }: WantedPlace, text: string, ids: Map<string, number>): void {
    const parent = this.#blockAt(steps.slice(0, -1));
    if (parent === undefined)
      throw new ApiError(409, 'RollbackImpossible', `${readable(address)} stood in a block that the configuration does not have any more`);
    const target = this.#tree.byId(ids.get(address) ?? ROOT_ID);
    if (target === undefined) ids.set(address, this.#add(parent, address, text, ids.get(next ?? '')));
    else if (exactDirective(target) !== text) this.#replace(target, parent.context, text);
  }

  /** @throws ApiError 409 `RollbackImpossible` */
  restoreLines(address: string, past: LinesPast): void {
    const parent = this.#blockAt(stepsIn(address));
    if (parent === undefined) throw new ApiError(409, 'RollbackImpossible', `${readable(address)} is not in the configuration any more`);
    const { ids, file, registry } = this.around;
    const current = orderedLines(parent.block, parent.context, registry);
    const lines = [...(past.lines ?? current.map((line) => exactDirective(line)))];
    for (const change of past.changes.toReversed()) undoLine(lines, change);
    const { removed, kept } = lineChanges(current, lines);
    for (const line of removed) this.#remove(line);
    const places = new Map(Array.from(parent.block, ({ id }, place) => [id, place]));
    const previous = previousOf(kept);
    let following: number | undefined;
    // From the last one on: what a line is put in front of is there then.
    for (const [at, line] of [...lines.entries()].toReversed()) {
      const known = kept[at];
      if (known === undefined) {
        const directive = parseDirective(textOf(line), ids, file);
        const before = this.#besideOthers(address, line, { places, previous: previous[at], following }) ?? following;
        const operation = { op: 'add', parent: parent.id, directive, ...(before !== undefined && { before }) } as const;
        this.#push({ op: 'add', id: directive.id, operations: [operation] });
        places.set(directive.id, inFrontOf(places.get(before ?? ROOT_ID)));
        following = directive.id;
      } else following = known.id;
    }
  }

  /** The directive of another kind that the line stood in front of, if that is between the lines around it. */
  #besideOthers(address: string, line: NotedLine, { places, previous, following }: LinePlace): number | undefined {
    if (typeof line === 'string') return undefined;
    const parent = this.#blockAt(stepsIn(address));
    const other = parent && this.#childAt(parent, addressOf(address, line[1]));
    if (other === undefined) return undefined;
    const placeOf = (id: number | undefined, none: number): number => (id === undefined ? none : (places.get(id) ?? none));
    const at = placeOf(other.id, -1);
    return placeOf(previous, -1) < at && at < placeOf(following, Infinity) ? other.id : undefined;
  }

  #remove({ id }: Directive): void {
    const operation = { op: 'remove', id } as const;
    this.#push({ op: 'remove', id, operations: [operation] });
  }

  #add(parent: BlockAt, address: string, text: string, next: number | undefined): number {
    const key = KEYED.exec(stepsIn(address).at(-1) ?? '')?.[1];
    const parsed: DirectiveData = {
      ...parseDirective(text, this.around.ids, this.around.file),
      ...(key !== undefined && { key: Number(key) }),
    };
    const directive = withKeys(parsed, parent.context, this.around, () => parent.address);
    this.#restored.add(address);
    const operation = { op: 'add', parent: parent.id, directive, ...(next !== undefined && { before: next }) } as const;
    this.#push({ op: 'add', id: directive.id, operations: [operation], address });
    return directive.id;
  }

  #replace(target: Directive, context: ContextName, text: string): void {
    const [now] = toDirectives([parseDirective(text, this.around.ids, this.around.file)]);
    if (now === undefined) throw new Error('a directive of the history was parsed to nothing');
    const around = { ...this.around, tree: this.#tree, addresses: new Addresses(this.#tree, this.around.registry, this.#removed) };
    const operations = diffDirective(target, now, context, this.around.registry).map((operation) => keyedOperation(operation, around));
    this.#push({ op: 'replace', id: target.id, operations });
  }

  /** Changes inside a directive that is restored or changed itself are part of that edit, so that they are recorded once. */
  #push(edit: ResolvedEdit): void {
    const after = this.#tree.apply(edit.operations);
    const path = (edit.op === 'add' ? after : this.#tree).pathOf(edit.id);
    this.#tree = after;
    const at = path.map(({ id }) => this.#owners.get(id)).find((place) => place !== undefined);
    const owner = this.edits[at ?? -1];
    if (owner !== undefined) for (const operation of edit.operations) owner.operations.push(operation);
    else {
      if (edit.op !== 'remove') this.#owners.set(edit.id, this.edits.length);
      this.edits.push({ ...edit, operations: [...edit.operations], goesBack: true });
    }
  }

  #blockAt(steps: readonly string[]): BlockAt | undefined {
    return blockAt(steps, { tree: this.#tree, registry: this.around.registry, removed: this.#removed });
  }

  #childAt(block: BlockAt, address: string): Directive | undefined {
    return childAt(address, block, { tree: this.#tree, registry: this.around.registry, removed: this.#removed });
  }

  readonly #removed = (address: string): boolean => !this.#restored.has(address) && this.around.removed(address);
}
