import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree } from '../config/tree.js';
import { blockContext, type ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { Addresses } from './address.js';
import { keyRows } from './lasting-keys.js';
import { stateFileOf } from './state-files.js';
import type { Store } from './store.js';
import type { KeyRow } from './store-tables.js';
import type { ModuleSpecs } from './transaction-options.js';

/**
 * Gives the store the content that a start with these files would give it: the journal is empty, and directives with lasting keys are found
 * by their identity in the file. Called inside a store transaction.
 * @param tree the current one, as in the files
 */
export function forgetJournal(store: Store, tree: ConfigTree, modules: ModuleSpecs): void {
  const { registry } = modules;
  const { overlay, keys } = store;
  const journalled = new Addresses(tree, registry, (address) => overlay.get(address)?.op === 'remove');
  const inFiles = new Addresses(tree, registry, () => false);
  const blocks = [...keyedBlocks(tree.root, 'main', registry)].map((block) => ({
    ...block,
    was: journalled.of(block.directive.id),
    is: inFiles.of(block.directive.id),
  }));
  const next = new Map(blocks.map(({ was }) => [was, keys.next(was)]));
  for (const { directive, context, was, is } of blocks) {
    keys.setNext(is, next.get(was) ?? 0);
    if (directive.block === undefined || stateFileOf(directive.block, context, modules) !== undefined) continue;
    const lines = [...directive.block].flatMap((line) => (line.key === undefined ? [] : { key: line.key, directive: line }));
    replaceKeys(store, is, keyRows(lines, context, registry));
  }
  for (const { address } of overlay.all()) overlay.delete(address);
}

const text = ({ identity, occurrence, key }: KeyRow): string => JSON.stringify([identity, occurrence, key]);

function replaceKeys({ keys }: Store, block: string, rows: readonly KeyRow[]): void {
  const [before, after] = [new Map(keys.of(block).map((row) => [text(row), row])), new Map(rows.map((row) => [text(row), row]))];
  for (const [known, row] of before) if (!after.has(known)) keys.delete(block, row);
  for (const [wanted, row] of after) if (!before.has(wanted)) keys.put(block, row);
}

/** Blocks with directives that have lasting keys. */
function* keyedBlocks(
  directives: Iterable<Directive>,
  context: ContextName,
  registry: SpecRegistry,
): Generator<{ readonly directive: Directive; readonly context: ContextName }> {
  for (const directive of directives) {
    const spec = registry.find(context, directive.name)?.spec;
    const inner = spec && blockContext(spec);
    if (directive.block === undefined || inner === undefined || inner === 'entries') continue;
    if (hasKeys(directive)) yield { directive, context: inner };
    yield* keyedBlocks(directive.block, inner, registry);
  }
}

function hasKeys({ block }: Directive): boolean {
  for (const { key } of block ?? []) if (key !== undefined) return true;
  return false;
}
