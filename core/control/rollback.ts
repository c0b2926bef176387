/** The way back to an earlier version: what transactions wrote into the history, turned around. */
import { diffDirective } from '../config/diff.js';
import type { ConfigTree, DirectiveData } from '../config/tree.js';
import { ApiError } from '../module/control.js';
import { exactDirective } from '../module/print.js';
import type { ContextName } from '../module/spec.js';
import type { Block, Directive } from '../module/tree.js';
import { Addresses, readable, ROOT_ADDRESS, stepsIn, addressOf } from './address.js';
import { keyedOperation, withKeys, type EditSurroundings, type ResolvedEdit } from './edits.js';
import type { AddressChange } from './journal-entry.js';
import { lineSteps, orderedLines } from './ordered-lines.js';
import { parseDirective, toDirectives } from './parse-directive.js';

export interface RollbackSurroundings extends EditSurroundings {
  /** Whether the journal says that what the file has at an address was removed. */
  readonly removed: (address: string) => boolean;
}

/**
 * Edits that take changes back.
 * @param changes of all transactions in question, the newest first
 * @throws ApiError 409 `RollbackImpossible` when what a change is about stood in a block that is not there any more
 */
export function rollbackEdits(changes: Iterable<AddressChange>, around: RollbackSurroundings): ResolvedEdit[] {
  const wanted = new Map<string, string | undefined>();
  /** Lines whose order may matter, by the address of their block. */
  const lists = new Map<string, readonly string[]>();
  for (const { address, before, lines } of changes) {
    if (lines === undefined) {
      wanted.set(address, before);
      // What the whole block was before says what its lines were.
      for (const block of lists.keys()) if (isWithin(block, address)) lists.delete(block);
    } else if (lines !== true) lists.set(blockOf(address), lines);
  }
  const places = [...wanted].map(([address, text]) => ({ address, text, steps: stepsIn(address) }));
  const rollback = new Rollback(around);
  // What is in a block that comes back is put right after it.
  for (const place of places.toSorted((a, b) => a.steps.length - b.steps.length)) rollback.restore(place);
  const gone = places.filter(({ text }) => text === undefined);
  for (const [block, lines] of lists) if (!gone.some(({ address }) => isWithin(block, address))) rollback.restoreLines(block, lines);
  return rollback.edits;
}

const isWithin = (address: string, block: string): boolean => address === block || address.startsWith(`${block},`);

/** The address of the block that something stands in. */
function blockOf(address: string): string {
  return JSON.stringify(stepsIn(address).slice(0, -1)).slice(1, -1);
}

interface WantedPlace {
  readonly address: string;
  /** Undefined: nothing was there. */
  readonly text: string | undefined;
  readonly steps: readonly string[];
}

/** A block on the way back. */
interface BlockAt {
  readonly id: number;
  readonly address: string;
  readonly block: Block;
  readonly context: ContextName;
}

/** Goes back address by address, on trees that have what came before. */
class Rollback {
  readonly edits: ResolvedEdit[] = [];
  readonly #restored = new Set<string>();
  #tree: ConfigTree;

  constructor(private readonly around: RollbackSurroundings) {
    this.#tree = around.tree;
  }

  restore({ address, text, steps }: WantedPlace): void {
    const parent = this.#blockAt(steps.slice(0, -1));
    const target = parent && this.#childAt(parent, address);
    if (text === undefined) {
      if (target !== undefined) this.#push({ op: 'remove', id: target.id, operations: [{ op: 'remove', id: target.id }] });
    } else if (parent === undefined)
      throw new ApiError(409, 'RollbackImpossible', `${readable(address)} stood in a block that the configuration does not have any more`);
    else if (target === undefined) this.#add(parent, address, text);
    else if (exactDirective(target) !== text) this.#replace(target, parent.context, text);
  }

  /** @throws ApiError 409 `RollbackImpossible` */
  restoreLines(address: string, lines: readonly string[]): void {
    const parent = this.#blockAt(stepsIn(address));
    if (parent === undefined) throw new ApiError(409, 'RollbackImpossible', `${readable(address)} is not in the configuration any more`);
    const { ids, file, registry } = this.around;
    for (const step of lineSteps(orderedLines(parent.block, parent.context, registry), lines)) {
      if ('remove' in step) this.#push({ op: 'remove', id: step.remove.id, operations: [{ op: 'remove', id: step.remove.id }] });
      else {
        const directive = parseDirective(step.add, ids, file);
        const place = step.before && { before: step.before.id };
        this.#push({ op: 'add', id: directive.id, operations: [{ op: 'add', parent: parent.id, directive, ...place }] });
      }
    }
  }

  #add(parent: BlockAt, address: string, text: string): void {
    const key = /@(\d+)$/.exec(stepsIn(address).at(-1) ?? '')?.[1];
    const parsed: DirectiveData = {
      ...parseDirective(text, this.around.ids, this.around.file),
      ...(key !== undefined && { key: Number(key) }),
    };
    const directive = withKeys(parsed, parent.context, this.around, () => parent.address);
    this.#restored.add(address);
    this.#push({ op: 'add', id: directive.id, operations: [{ op: 'add', parent: parent.id, directive }], address });
  }

  #replace(target: Directive, context: ContextName, text: string): void {
    const [now] = toDirectives([parseDirective(text, this.around.ids, this.around.file)]);
    if (now === undefined) throw new Error('a directive of the history was parsed to nothing');
    const around = { ...this.around, tree: this.#tree, addresses: this.#addresses() };
    const operations = diffDirective(target, now, context, this.around.registry).map((operation) => keyedOperation(operation, around));
    this.#push({ op: 'replace', id: target.id, operations });
  }

  #push(edit: ResolvedEdit): void {
    this.edits.push(edit);
    this.#tree = this.#tree.apply(edit.operations);
  }

  #blockAt(steps: readonly string[]): BlockAt | undefined {
    let at: BlockAt | undefined = { id: 0, address: ROOT_ADDRESS, block: this.#tree.root, context: 'main' };
    for (const step of steps) {
      const address = addressOf(at.address, step);
      const child = this.#childAt(at, address);
      const context = this.around.registry.contextInside(at.context, child?.name ?? '');
      if (child?.block === undefined || context === undefined) return undefined;
      at = { id: child.id, address, block: child.block, context };
    }
    return at;
  }

  #childAt({ block }: BlockAt, address: string): Directive | undefined {
    const step = stepsIn(address).at(-1) ?? '';
    const [name = ''] = step.replace(/^\d+:/, '').split(/[ @]/, 1);
    const addresses = this.#addresses();
    for (const child of block.named(name)) if (addresses.of(child.id) === address) return child;
    return undefined;
  }

  #addresses(): Addresses {
    return new Addresses(this.#tree, this.around.registry, (address) => !this.#restored.has(address) && this.around.removed(address));
  }
}
