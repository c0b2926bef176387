import type { SpecRegistry } from '../config/registry.js';
import { directiveData } from '../config/operations.js';
import { type DirectiveData, type TreeOperation } from '../config/tree.js';
import type { ContextName } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';
import { addressIn, ROOT_ADDRESS, stepOf } from './address.js';

/** With more of them in one block, the block is replaced. */
const MOST_SINGLE_CHANGES = 16;

/**
 * A directive of a tree that is being put together from the file and the journal: its block can be changed, and its children are found by
 * their steps. Addresses stay those of the moment they were first asked for.
 */
export class Draft {
  children: Draft[] | undefined;
  key: number | undefined;
  removed = false;
  /** It was not in the block before. */
  #isNew = false;
  /** The directive that this one took the place of. */
  #replaced: Directive | undefined;
  #address: string | undefined;
  #bySteps: Map<string, Draft> | undefined;

  private constructor(
    public directive: Directive,
    readonly parent: Draft | undefined,
    /** Context the directives in its block stand in. */
    readonly inside: ContextName | undefined,
    private readonly registry: SpecRegistry,
  ) {
    this.key = directive.key;
    this.#adopt(directive.block);
  }

  static root(block: Block, registry: SpecRegistry): Draft {
    const source = { file: '', line: 0, column: 0 };
    return new Draft({ id: 0, name: '', args: [], source, block }, undefined, 'main', registry);
  }

  get address(): string {
    if (this.parent === undefined) return ROOT_ADDRESS;
    if (this.#address === undefined) this.parent.#index();
    return this.#address ?? ROOT_ADDRESS;
  }

  /** The child at one step of an address, number included. */
  child(step: string): Draft | undefined {
    const found = this.#index().get(step);
    return found?.removed === true ? undefined : found;
  }

  /** Puts a directive into the block at a position of {@link children}; without one at the end. */
  insert(directive: Directive, address: string, step: string, position = this.children?.length ?? 0): Draft {
    const added = this.#make(directive);
    added.#isNew = true;
    added.#address = address;
    this.#index().set(step, added);
    this.children?.splice(position, 0, added);
    return added;
  }

  /** Puts other content in its place. Its address stays. */
  replaceWith(directive: Directive): void {
    if (!this.#isNew) this.#replaced ??= this.directive;
    this.directive = directive;
    this.key = directive.key ?? this.key;
    this.#bySteps = undefined;
    this.#adopt(directive.block);
  }

  /** Puts a directive into the block before it is indexed. */
  include(directive: Directive, key: number | undefined): void {
    const child = this.#make(directive);
    child.#isNew = true;
    child.key = key;
    this.children?.push(child);
  }

  /** Its source, with the lasting keys that were found for it; undefined: there are no new ones. */
  keyedData(): DirectiveData[] | undefined {
    return this.#hasNewKeys ? this.#fileData() : undefined;
  }

  /** Turns the block of {@link keyedData} into the current one. */
  operations(): TreeOperation[] {
    const { children = [] } = this;
    const changed = children.filter((child) => child.#isChanged);
    if (changed.length > MOST_SINGLE_CHANGES) return [this.#whole()];
    let before: number | undefined;
    const operations: TreeOperation[] = [];
    for (const child of children.toReversed()) {
      operations.push(...child.#ownOperations(this.directive.id, before));
      if (!child.removed) before = child.directive.id;
    }
    return operations;
  }

  toData(): DirectiveData {
    const { id, name, args, source } = this.directive;
    const block = this.children && this.blockData();
    return { id, name, args, source, ...(block && { block }), ...(this.key !== undefined && { key: this.key }) };
  }

  blockData(): DirectiveData[] {
    return (this.children ?? []).filter((child) => !child.removed).map((child) => child.toData());
  }

  get #isChanged(): boolean {
    return this.removed || this.#isNew || this.#replaced !== undefined;
  }

  get #hasNewKeys(): boolean {
    if (this.#isNew || this.#replaced !== undefined) return false;
    return this.key !== this.directive.key || (this.children?.some((child) => child.#hasNewKeys) ?? false);
  }

  #fileData(): DirectiveData[] {
    return (this.children ?? []).filter((child) => !child.#isNew).map((child) => child.#fileDirective());
  }

  #fileDirective(): DirectiveData {
    if (this.#replaced !== undefined) return directiveData(this.#replaced);
    const { id, name, args, source } = this.directive;
    const block = this.children && this.#fileData();
    return { id, name, args, source, ...(block && { block }), ...(this.key !== undefined && { key: this.key }) };
  }

  #whole(): TreeOperation {
    return this.parent === undefined ? { op: 'root', block: this.blockData() } : { op: 'replace', directive: this.toData() };
  }

  /** @param before id of the directive after it in the block */
  #ownOperations(parent: number, before: number | undefined): TreeOperation[] {
    const old = this.#isNew ? undefined : (this.#replaced ?? this.directive);
    const remove: TreeOperation[] = old === undefined ? [] : [{ op: 'remove', id: old.id }];
    if (this.removed) return remove;
    if (!this.#isChanged) return this.operations();
    return [...remove, { op: 'add', parent, directive: this.toData(), ...(before !== undefined && { before }) }];
  }

  #adopt(block: Block | undefined): void {
    this.children = block && Array.from(block, (child) => this.#make(child));
  }

  #make(directive: Directive): Draft {
    const { inside } = this;
    return new Draft(directive, this, inside && this.registry.contextInside(inside, directive.name), this.registry);
  }

  #index(): Map<string, Draft> {
    if (this.#bySteps !== undefined) return this.#bySteps;
    const index = (this.#bySteps = new Map<string, Draft>());
    const counts = new Map<string, number>();
    for (const child of this.children ?? []) {
      const { text } = stepOf(
        { ...child.directive, ...(child.key !== undefined && { key: child.key }) },
        this.inside ?? 'main',
        this.registry,
      );
      const occurrence = counts.get(text) ?? 0;
      counts.set(text, occurrence + 1);
      child.#address = addressIn(this.address, text, occurrence);
      index.set(lastStep(child.#address, this.address), child);
    }
    return index;
  }
}

function lastStep(address: string, parent: string): string {
  return JSON.parse(address.slice(parent === ROOT_ADDRESS ? 0 : parent.length + 1)) as string;
}
