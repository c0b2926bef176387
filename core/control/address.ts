/**
 * Where a directive stands, independent of process, file position and order: what the journal goes by. An address is the list of steps from
 * the main level, written as the inside of a JSON array (`"http","upstream demo","server@7"`), so that everything below one address is one
 * range of the sorted addresses.
 */
import type { SpecRegistry } from '../config/registry.js';
import { ConfigTree, type Tree } from '../config/tree.js';
import type { ContextName } from '../module/spec.js';
import type { Block, Directive } from '../module/tree.js';

export const ROOT_ADDRESS = '';
const NO_BLOCK: Block = ConfigTree.empty.root;

/** What a directive is called in its block. */
export interface Step {
  readonly text: string;
  /** Several in one block may be called the same: they are told apart by their number. */
  readonly counted: boolean;
}

/** The step of a directive in a block of `context`. One with a lasting key goes by it, all others by what they are. */
export function stepOf(directive: Directive, context: ContextName, registry: SpecRegistry): Step {
  const spec = registry.find(context, directive.name)?.spec;
  if (spec?.keyed === true && directive.key !== undefined) return { text: `${directive.name}@${directive.key}`, counted: false };
  if (spec?.identity !== undefined) return { text: `${directive.name} ${spec.identity(directive)}`, counted: true };
  if (spec?.many === undefined) return { text: directive.name, counted: false };
  return { text: `${directive.name} ${textIdentity(directive)}`, counted: true };
}

/** What a directive without a key is known by from one reading of its file to the next. */
export function keyIdentity(directive: Directive, context: ContextName, registry: SpecRegistry): string {
  const spec = registry.find(context, directive.name)?.spec;
  return `${directive.name} ${spec?.identity?.(directive) ?? directive.args[0]?.text ?? ''}`;
}

function textIdentity({ args }: Directive): string {
  return args.map((word) => word.text).join(' ');
}

/** Address of a step inside `parent`. `occurrence`: how many of the same step stand before it. */
export function addressIn(parent: string, step: string, occurrence = 0): string {
  const numbered = occurrence > 0 || /^\d+:/.test(step) ? `${occurrence}:${step}` : step;
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

/** For people: `http / upstream demo / server@7`; `main` for the main level. */
export function readable(address: string): string {
  const steps = stepsIn(address).map((step) => step.replace(/^\d+:/, '').trim());
  return steps.length === 0 ? 'main' : steps.join(' / ');
}

/**
 * Address of a directive of the tree in force.
 * @param removed whether the journal says that what the file has at an address was removed: such places are still counted
 */
export function addressOf(tree: Tree, id: number, registry: SpecRegistry, removed: (address: string) => boolean): string {
  let address = ROOT_ADDRESS;
  let context: ContextName | undefined = 'main';
  let siblings = tree.root;
  for (const directive of tree.pathOf(id)) {
    if (context === undefined) throw new Error(`directive "${directive.name}" stands in an unknown context`);
    const step = stepOf(directive, context, registry);
    address = step.counted
      ? countedAddress(address, step.text, equalsBefore(directive, step.text, siblings, context, registry), removed)
      : addressIn(address, step.text);
    context = registry.contextInside(context, directive.name);
    siblings = directive.block ?? NO_BLOCK;
  }
  return address;
}

/** The place of the (before + 1)th of equal directives that are left. */
function countedAddress(parent: string, step: string, before: number, removed: (address: string) => boolean): string {
  for (let occurrence = 0, left = before; ; occurrence++) {
    const address = addressIn(parent, step, occurrence);
    if (removed(address)) continue;
    if (left-- === 0) return address;
  }
}

function equalsBefore(directive: Directive, step: string, siblings: Block, context: ContextName, registry: SpecRegistry): number {
  let count = 0;
  for (const sibling of siblings.named(directive.name)) {
    if (sibling.id === directive.id) break;
    if (stepOf(sibling, context, registry).text === step) count++;
  }
  return count;
}
