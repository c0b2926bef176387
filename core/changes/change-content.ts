/**
 * A change as other nodes get it. Ids of directives are those of one process: those of existing directives are sent with their addresses, and
 * the other ones become new ids. Addresses count what is in the tree: journals may differ where trees are the same.
 */
import type { SpecRegistry } from '../config/registry.js';
import { ROOT_ID, type ConfigTree, type DirectiveData, type IdSource, type TreeOperation } from '../config/tree.js';
import { Addresses, blockAt, childAt, readable, stepsIn } from './address.js';
import type { ResolvedEdit } from './edits.js';
import type { GivenKeys } from './new-keys.js';
import { inCall } from './parse-directive.js';
import type { StagedStep } from './staged-change.js';

/** One change of the API. JSON. */
export interface ChangeContent {
  /** Request id of the call. */
  readonly origin: string;
  readonly actor: string;
  readonly message: string;
  readonly steps: readonly ContentStep[];
  /** Lasting keys that it uses. */
  readonly keys: readonly GivenKeys[];
}

/** The content of a change that other nodes do not get. */
export const noContent = (origin: string): ChangeContent => ({ origin, actor: '', message: '', steps: [], keys: [] });

/** Effect of one call. */
export interface ContentStep {
  /** See {@link StagedStep}. */
  readonly isChain: boolean;
  /** With the ids of the node that made the change. */
  readonly edits: readonly ResolvedEdit[];
  /** Addresses of the directives in them that existed before. */
  readonly places: readonly (readonly [id: number, address: string])[];
}

const inTree = (): boolean => false;

/** A step for other nodes. */
export function contentStep({ before, edits, isChain }: StagedStep, registry: SpecRegistry): ContentStep {
  const addresses = new Addresses(before, registry, inTree);
  const ids = new Set(edits.flatMap(({ id, operations }) => [id, ...operations.flatMap(idsOf)]));
  const places = [...ids].filter((id) => before.byId(id) !== undefined).map((id) => [id, addresses.of(id)] as const);
  return { isChain, edits, places };
}

function idsOf(operation: TreeOperation): readonly number[] {
  switch (operation.op) {
    case 'add':
      return [operation.parent, ...siblingOf(operation), ...idsIn(operation.directive)];
    case 'move':
      return [operation.id, ...siblingOf(operation)];
    case 'replace':
      return idsIn(operation.directive);
    case 'remove':
      return [operation.id];
    case 'root':
      return operation.block.flatMap(idsIn);
  }
}

const siblingOf = ({ before }: { readonly before?: number }): readonly number[] => (before === undefined ? [] : [before]);

const idsIn = ({ id, block }: DirectiveData): readonly number[] => [id, ...(block ?? []).flatMap(idsIn)];

export interface ContentSurroundings {
  /** Before the step. */
  readonly tree: ConfigTree;
  readonly registry: SpecRegistry;
  readonly ids: IdSource;
  /** Name of the change's text in errors. */
  readonly file: string;
}

/** The edits of another node's step, for the tree of this one. @throws Error when something that they are about is not in the tree */
export function editsOf({ edits, places }: ContentStep, around: ContentSurroundings): ResolvedEdit[] {
  const local = new LocalStep(places, around);
  return edits.map((edit) => local.edit(edit));
}

class LocalStep {
  readonly #ids = new Map([[ROOT_ID, ROOT_ID]]);

  constructor(
    places: ContentStep['places'],
    private readonly around: ContentSurroundings,
  ) {
    for (const [id, address] of places) this.#ids.set(id, this.#idAt(address));
  }

  edit(edit: ResolvedEdit): ResolvedEdit {
    return { ...edit, id: this.#id(edit.id), operations: edit.operations.map((operation) => this.#operation(operation)) };
  }

  #operation(operation: TreeOperation): TreeOperation {
    switch (operation.op) {
      case 'add':
        return {
          ...operation,
          parent: this.#id(operation.parent),
          directive: this.#directive(operation.directive),
          ...this.#sibling(operation),
        };
      case 'move':
        return { ...operation, id: this.#id(operation.id), ...this.#sibling(operation) };
      case 'replace':
        return { ...operation, directive: this.#directive(operation.directive) };
      case 'remove':
        return { ...operation, id: this.#id(operation.id) };
      case 'root':
        return { ...operation, block: operation.block.map((directive) => this.#directive(directive)) };
    }
  }

  #sibling({ before }: { readonly before?: number }): { readonly before?: number } {
    return before === undefined ? {} : { before: this.#id(before) };
  }

  #directive(directive: DirectiveData): DirectiveData {
    const { tree, file } = this.around;
    const id = this.#id(directive.id);
    const source = tree.byId(id)?.source ?? inCall(directive.source, file);
    const block = directive.block?.map((child) => this.#directive(child));
    return { ...directive, id, source, ...(block && { block }) };
  }

  /** One that has no place is new. */
  #id(id: number): number {
    const known = this.#ids.get(id) ?? this.around.ids.next();
    this.#ids.set(id, known);
    return known;
  }

  #idAt(address: string): number {
    const around = { ...this.around, removed: inTree };
    const block = blockAt(stepsIn(address).slice(0, -1), around);
    const found = block && childAt(address, block, around);
    if (found === undefined) throw new Error(`"${readable(address)}" is not in the configuration of this node`);
    return found.id;
  }
}
