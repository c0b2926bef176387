/**
 * Place of a directive, independent of process, file position and order, as the journal has it. An address is the list of steps from
 * the main level, written as the inside of a JSON array (`"http","upstream demo","server@7"`), so that everything below one address is one
 * range of the sorted addresses.
 */
import { ConfigBlock } from '../config/block.js';
import type { SpecRegistry } from '../config/registry.js';
import { ConfigTree, ROOT_ID, type Tree } from '../config/tree.js';
import { shownText } from '../contract/secrets.js';
import type { ContextName } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';

export const ROOT_ADDRESS = '';
const NO_BLOCK: Block = ConfigTree.empty.root;

/** Name of a directive in its block. */
export interface AddressStep {
  readonly text: string;
  /** Several in one block may be called the same: they are distinguished by their number. */
  readonly counted: boolean;
}

/** The step of a directive in a block of `context`. One with a lasting key goes by it, all others by what they are. */
export function stepOf(directive: Directive, context: ContextName, registry: SpecRegistry): AddressStep {
  const spec = registry.find(context, directive.name)?.spec;
  if (spec?.keyed === true && directive.key !== undefined) return { text: `${directive.name}@${directive.key}`, counted: false };
  if (spec?.identity !== undefined) return { text: `${directive.name} ${registry.identityOf(directive, spec)}`, counted: true };
  if (spec?.many === undefined) return { text: directive.name, counted: false };
  return { text: `${directive.name} ${textIdentity(directive)}`, counted: true };
}

/** Identity of a directive without a key from one reading of its file to the next. */
export function keyIdentity(directive: Directive, context: ContextName, registry: SpecRegistry): string {
  const spec = registry.find(context, directive.name)?.spec;
  return `${directive.name} ${spec?.identity?.(directive) ?? directive.args[0]?.text ?? ''}`;
}

function textIdentity({ args }: Directive): string {
  return args.map((word) => word.text).join(' ');
}

/** Address of a step inside `parent`. `occurrence`: number of equal steps before it. */
export function addressIn(parent: string, step: string, occurrence = 0): string {
  return addressOf(parent, occurrence > 0 || /^\d+:/.test(step) ? `${occurrence}:${step}` : step);
}

/** Address of a numbered step ({@link stepsIn}) inside `parent`. */
export function addressOf(parent: string, numbered: string): string {
  return parent === ROOT_ADDRESS ? JSON.stringify(numbered) : `${parent},${JSON.stringify(numbered)}`;
}

/** Addresses below `address` are those between the two, both excluded: a comma follows it, and `-` is the character after the comma. */
export function below(address: string): readonly [from: string, to: string] {
  return [`${address},`, `${address}-`];
}

/** Steps of an address, with their numbers. */
export function stepsIn(address: string): readonly string[] {
  return JSON.parse(`[${address}]`) as string[];
}

/** The last step of an address, and how many equal ones are counted before it. */
export function numberedStep(address: string): { readonly number: number; readonly text: string } {
  const step = stepsIn(address).at(-1) ?? '';
  const [, number, text] = /^(\d+):(.*)$/s.exec(step) ?? [];
  return text === undefined ? { number: 0, text: step } : { number: Number(number), text };
}

/** True if a block has another directive that is called the same, so that the two are distinguished by their number. */
export function hasEqual(directive: Directive, siblings: Block, context: ContextName, registry: SpecRegistry): boolean {
  const { text, counted } = stepOf(directive, context, registry);
  if (!counted) return false;
  for (const ids of equals(directive.name, text, siblings, context, registry)) if (ids.some((id) => id !== directive.id)) return true;
  return false;
}

/**
 * The directive that has an address. Looks only at directives of the same name.
 * @param block that it is to be in, of `tree`
 * @param removed as for {@link Addresses}
 */
export function childAt(
  address: string,
  { block, context }: { readonly block: Block; readonly context: ContextName },
  {
    tree,
    registry,
    removed,
  }: {
    readonly tree: Pick<Tree, 'byId' | 'root'>;
    readonly registry: SpecRegistry;
    readonly removed: (address: string) => boolean;
  },
): Directive | undefined {
  const { number, text } = numberedStep(address);
  const [name = ''] = text.split(/[ @]/, 1);
  const nth = (wanted: number): Directive | undefined => {
    let left = wanted;
    for (const ids of equals(name, text, block, context, registry)) {
      const id = ids[left];
      if (id !== undefined) return tree.byId(id);
      left -= ids.length;
    }
    return undefined;
  };
  const first = nth(0);
  if (first === undefined) return undefined;
  if (!stepOf(first, context, registry).counted) return number === 0 ? first : undefined;
  if (removed(address)) return undefined;
  const parent = parentAddress(address);
  let before = number;
  for (let occurrence = 0; occurrence < number; occurrence++) if (removed(addressIn(parent, text, occurrence))) before--;
  return nth(before);
}

/** A block of a tree. */
export interface BlockAt {
  /** Of the directive that has the block; 0: the main level. */
  readonly id: number;
  readonly address: string;
  readonly block: Block;
  readonly context: ContextName;
}

/** The block that steps lead to. Undefined: there is none. @param around as for {@link childAt} */
export function blockAt(steps: readonly string[], around: Parameters<typeof childAt>[2]): BlockAt | undefined {
  let at: BlockAt = { id: ROOT_ID, address: ROOT_ADDRESS, block: around.tree.root, context: 'main' };
  for (const step of steps) {
    const address = addressOf(at.address, step);
    const child = childAt(address, at, around);
    const context = around.registry.contextInside(at.context, child?.name ?? '');
    if (child?.block === undefined || context === undefined) return undefined;
    at = { id: child.id, address, block: child.block, context };
  }
  return at;
}

/** The address of the block that something is in. */
export function parentAddress(address: string): string {
  return JSON.stringify(stepsIn(address).slice(0, -1)).slice(1, -1);
}

/** For people: `http / upstream demo / server@7`; `main` for the main level. */
export function readable(address: string): string {
  const steps = stepsIn(address).map((step) => step.replace(/^\d+:/, '').trim());
  return steps.length === 0 ? 'main' : shownText(steps.join(' / '));
}

/** A block on the way to a directive. */
interface Place {
  readonly address: string;
  /** Context of the directives in it. */
  readonly context: ContextName | undefined;
  readonly block: Block;
}

/** Addresses in one tree. Those of blocks are kept: in a list of 100,000 all have the same. */
export class Addresses {
  readonly #places = new Map<number, Place>();

  /** @param removed whether the journal says that what the file has at an address was removed: such places are still counted */
  constructor(
    private readonly tree: Tree,
    private readonly registry: SpecRegistry,
    private readonly removed: (address: string) => boolean,
  ) {}

  /** Of a directive of the tree. */
  of(id: number): string {
    const directive = this.tree.byId(id);
    return directive === undefined ? ROOT_ADDRESS : this.#addressIn(this.#around(id), directive);
  }

  /** Of the block that a directive of the tree is in. */
  around(id: number): string {
    return this.#around(id).address;
  }

  /** Of a directive that is to come to the end of a block. */
  ofNew(directive: Directive, parent: number): string {
    const { address, context, block } = this.#inside(parent);
    if (context === undefined) throw new Error(`directive "${directive.name}" has no context`);
    const step = stepOf(directive, context, this.registry);
    if (!step.counted) return addressIn(address, step.text);
    return countedAddress(address, step.text, equalsBefore(directive, step.text, block, context, this.registry), this.removed);
  }

  /** Entries of the journal for blocks have changed. */
  forget(): void {
    this.#places.clear();
  }

  #around(id: number): Place {
    return this.#inside(this.tree.parentOf(id)?.id ?? ROOT_ID);
  }

  #inside(id: number): Place {
    const parent = this.tree.byId(id);
    if (parent === undefined) return { address: ROOT_ADDRESS, context: 'main', block: this.tree.root };
    const known = this.#places.get(parent.id);
    if (known !== undefined) return known;
    const outside = this.#around(parent.id);
    const context = outside.context && this.registry.contextInside(outside.context, parent.name);
    const place = { address: this.#addressIn(outside, parent), context, block: parent.block ?? NO_BLOCK };
    this.#places.set(parent.id, place);
    return place;
  }

  #addressIn({ address, context, block }: Place, directive: Directive): string {
    if (context === undefined) throw new Error(`directive "${directive.name}" is in an unknown context`);
    const step = stepOf(directive, context, this.registry);
    if (!step.counted) return addressIn(address, step.text);
    return countedAddress(address, step.text, equalsBefore(directive, step.text, block, context, this.registry), this.removed);
  }
}

/** The place of the (before + 1)th of equal directives that are left. */
function countedAddress(parent: string, step: string, before: number, removed: (address: string) => boolean): string {
  for (let occurrence = 0, left = before; ; occurrence++) {
    const address = addressIn(parent, step, occurrence);
    if (removed(address)) continue;
    if (left-- === 0) return address;
  }
}

/** Of a directive that is not in the block: all of its equals. */
function equalsBefore({ id, name }: Directive, step: string, block: Block, context: ContextName, registry: SpecRegistry): number {
  let count = 0;
  for (const ids of equals(name, step, block, context, registry)) {
    const at = ids.indexOf(id);
    if (at >= 0) return count + at;
    count += ids.length;
  }
  return count;
}

/** Ids of the directives of a block that are called the same, in order, in pieces. Among 10,000 only those near a change are looked at. */
function* equals(name: string, step: string, block: Block, context: ContextName, registry: SpecRegistry): Generator<readonly number[]> {
  const runs = block instanceof ConfigBlock ? block.runs(name) : [[...block.named(name)]];
  for (const run of runs) {
    const ids = registry.groupsOf(run, (directive) => stepOf(directive, context, registry).text).get(step);
    if (ids !== undefined) yield ids;
  }
}
