import { netOperations } from '../config/net-operations.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import type { Directive } from '../contract/tree.js';
import { Addresses, hasEqual } from './address.js';
import type { ResolvedEdit } from './edits.js';
import type { NewKeys } from './new-keys.js';
import { textOfCall } from './parse-directive.js';

/** Effect of one call on the tree after the calls before it. */
export interface StagedStep {
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly edits: readonly ResolvedEdit[];
  /** The call it came with. */
  readonly call: number;
  /** True if its edits may be about what others of them bring. */
  readonly isChain: boolean;
}

export interface StagedSurroundings {
  /** The current tree. */
  readonly base: ConfigTree;
  /** Of the current configuration. */
  readonly version: number;
  readonly registry: SpecRegistry;
  readonly keys: NewKeys;
  /** True if the journal says that what the file has at an address was removed. */
  readonly removed: (address: string) => boolean;
  /** True if the journal says that the API added what is at an address. */
  readonly added: (address: string) => boolean;
  /** A number that no other change has. */
  readonly number: number;
  /** Of several calls. */
  readonly isJoint: boolean;
}

/** A change that is being put together, of one call or of several that take effect together: the tree as it would be. */
export class StagedChange {
  readonly base: ConfigTree;
  readonly keys: NewKeys;
  /** Of the configuration that the next call sees: changes that take effect together have one each. */
  version: number;
  /** The call that is being carried out. */
  call = 0;
  /** Undoes what the call has done. */
  #undo: () => void = () => undefined;
  /** False when its calls are over: what they left running is none of it any more. */
  isOpen = true;
  /** Further effects, beside the configuration, once it is active. */
  readonly followUps: (() => void)[] = [];
  /** Milliseconds that it may take beyond what every change may. */
  extraTime = 0;
  readonly #steps: StagedStep[] = [];
  /** Ids of what was added. */
  readonly #added = new Set<number>();
  /** By the name of the block around, name and first argument. */
  readonly #created = new Map<string, number>();
  /** Ids of the blocks in `http` and `stream` that something was done to. */
  readonly #touched = new Set<number>();
  readonly #removed = new Set<string>();

  constructor(private readonly around: StagedSurroundings) {
    this.base = around.base;
    this.version = around.version;
    this.keys = around.keys;
  }

  /** As it would be. */
  get tree(): ConfigTree {
    return this.#steps.at(-1)?.after ?? this.base;
  }

  get steps(): readonly StagedStep[] {
    return this.#steps;
  }

  /** Name of the call's text in errors. */
  get file(): string {
    return textOfCall(this.around.number, this.call);
  }

  readonly removed = (address: string): boolean => this.#removed.has(address) || this.around.removed(address);

  isAdded(id: number): boolean {
    return this.#added.has(id);
  }

  /** The directive with this name and first argument that was added to a block. @param block its name */
  created(block: string, name: string, argument: string): Directive | undefined {
    return this.tree.byId(this.#created.get(`${block} ${name} ${argument}`) ?? 0);
  }

  isTouched(id: number): boolean {
    return this.#touched.has(id);
  }

  /** Ids of blocks in `http` and `stream`. */
  get touched(): Iterable<number> {
    return this.#touched;
  }

  /** Adds what a call does. @param isChain see {@link StagedStep} @returns the tree with it */
  take(edits: readonly ResolvedEdit[], isChain: boolean): ConfigTree {
    const before = this.tree;
    const after = before.apply(edits.flatMap(({ operations }) => operations));
    if (this.around.isJoint) this.#note(edits, before, after);
    this.#steps.push({ before, after, edits, call: this.call, isChain });
    return after;
  }

  /** Begins a call, which may be undone. */
  begin(call: number): void {
    this.call = call;
    const { version, extraTime } = this;
    const steps = this.#steps.length;
    const giveBack = this.keys.mark();
    this.#undo = () => {
      this.#steps.length = steps;
      this.version = version;
      this.extraTime = extraTime;
      giveBack();
    };
  }

  /** Forgets what the call that was begun last has done. */
  undo(): void {
    this.#undo();
  }

  /** The last step, as if it were a change of its own. */
  lastStep() {
    const step = this.#steps.at(-1);
    if (step === undefined) throw new Error('nothing was done yet');
    const { before, after, edits, isChain } = step;
    const operations = edits.flatMap((edit) => edit.operations);
    return { steps: [step], before, after, operations: isChain ? netOperations(before, after, operations) : operations };
  }

  /** The change up to and with a call. */
  upTo(call: number): { readonly after: ConfigTree; readonly operations: readonly TreeOperation[] } {
    const steps = this.#steps.filter((step) => step.call <= call);
    const operations = steps.flatMap(({ edits }) => edits.flatMap((edit) => edit.operations));
    const after = steps.at(-1)?.after ?? this.base;
    const isChain = steps.length > 1 || steps.some((step) => step.isChain);
    return { after, operations: isChain ? netOperations(this.base, after, operations) : operations };
  }

  #note(edits: readonly ResolvedEdit[], before: ConfigTree, after: ConfigTree): void {
    const addresses = new Addresses(before, this.around.registry, this.removed);
    const removed = edits.flatMap(({ op, id }) =>
      op === 'remove' && this.#leavesNumber(id, addresses.of(id), before, after) ? addresses.of(id) : [],
    );
    for (const address of removed) this.#removed.add(address);
    for (const { op, id, operations } of edits) {
      if (op === 'add') this.#noteAdded(after.byId(id), after.parentOf(id));
      for (const operation of operations) this.#touch(operation, before, after);
    }
  }

  /** True if the journal will have a row for what was removed: as in `JournalEntry`. */
  #leavesNumber(id: number, address: string, before: ConfigTree, after: ConfigTree): boolean {
    if (!this.isAdded(id) && !this.around.added(address)) return true;
    const { registry } = this.around;
    const [directive, parent, context] = [before.byId(id), before.parentOf(id), registry.contextOf(before, id)];
    const block = parent === undefined ? after.root : after.byId(parent.id)?.block;
    return directive !== undefined && block !== undefined && context !== undefined && hasEqual(directive, block, context, registry);
  }

  #noteAdded(directive: Directive | undefined, block: Directive | undefined): void {
    if (directive === undefined) return;
    const { id, name, args } = directive;
    this.#added.add(id);
    this.#created.set(`${block?.name ?? ''} ${name} ${args[0]?.text ?? ''}`, id);
  }

  #touch(operation: TreeOperation, before: ConfigTree, after: ConfigTree): void {
    if (operation.op === 'root') return;
    const id = 'directive' in operation ? operation.directive.id : operation.id;
    const path = after.pathOf(id);
    const block = (path.length > 0 ? path : before.pathOf(id))[1];
    if (block !== undefined) this.#touched.add(block.id);
  }
}
