import { diffDirective } from '../config/diff.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, DirectiveData, IdSource, TreeOperation } from '../config/tree.js';
import { toDirectives } from '../config/tree-draft.js';
import { ApiError } from '../contract/control.js';
import type { Edit } from '../contract/transactions.js';
import { blockContext, type ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { addressIn, stepOf, type Addresses } from './address.js';
import { assertChangeable, assertDynamic } from './assert-dynamic.js';
import { editedDirective } from './parse-directive.js';

/** An edit as operations on the tree. */
export interface ResolvedEdit {
  readonly op: Edit['op'];
  /** The directive it is about: the new one of an `add`. */
  readonly id: number;
  readonly operations: readonly TreeOperation[];
  /** Of an `add` that brings something back: where it stood. */
  readonly address?: string;
  /** Part of a rollback. */
  readonly goesBack?: boolean;
}

export interface EditSurroundings {
  readonly tree: ConfigTree;
  readonly registry: SpecRegistry;
  readonly ids: IdSource;
  /** A key that was never used in the block at this address. */
  nextKey(block: string): number;
  /** In this tree. */
  readonly addresses: Addresses;
  /** Name of the change's text in errors. */
  readonly file: string;
  /** Asserts that new directives name no files that the API may not name. @throws ConfigErrors */
  assertFiles?(operations: readonly TreeOperation[], tree: ConfigTree): void;
}

/**
 * @throws ConfigErrors when its text is not one directive
 * @throws ConfigError when the spec of its directive does not say that it is `dynamic`
 * @throws ApiError 409 when its directive is not in the current tree
 */
export function resolveEdit(edit: Edit, around: EditSurroundings): ResolvedEdit {
  if (edit.op === 'add') return resolveAdd(edit, around);
  if (edit.op === 'replace') return resolveReplace(edit, around);
  const { id } = edit.target;
  assertInForce(id, around);
  assertDynamic(edit.target, around.registry.contextOf(around.tree, id), around.registry);
  return { op: 'remove', id, operations: [{ op: 'remove', id }] };
}

function resolveAdd({ parent, text, before, areFilesChecked }: Edit & { op: 'add' }, around: EditSurroundings): ResolvedEdit {
  assertInForce(parent.id, around);
  if (before !== undefined) assertInForce(before.id, around);
  const { tree, registry } = around;
  const parsed = editedDirective(text, around.ids, around.file);
  const context = registry.contextWithin(tree, parent.id);
  assertDynamic(parsed, context, registry);
  const inside = (): string => around.addresses.ofNew(directiveOf(parsed), parent.id);
  const directive = withKeys(parsed, context, around, () => around.addresses.of(parent.id), inside);
  const operations = [{ op: 'add', parent: parent.id, directive, ...(before && { before: before.id }) } as const];
  if (areFilesChecked !== true) around.assertFiles?.(operations, tree);
  return { op: 'add', id: directive.id, operations };
}

function resolveReplace({ target, text, areFilesChecked }: Edit & { op: 'replace' }, around: EditSurroundings): ResolvedEdit {
  assertInForce(target.id, around);
  const { tree, registry } = around;
  const old = tree.byId(target.id) ?? target;
  const now = directiveOf(editedDirective(text, around.ids, around.file));
  const context = registry.contextOf(tree, target.id);
  assertChangeable(old, now, context, registry);
  const operations = diffDirective(old, now, context, registry).map((operation) => keyedOperation(operation, around));
  if (areFilesChecked !== true) around.assertFiles?.(operations, tree);
  return { op: 'replace', id: target.id, operations };
}

function assertInForce(id: number, { tree }: EditSurroundings): void {
  if (tree.byId(id) === undefined) throw new ApiError(409, 'ChangedMeanwhile', 'what this change is about was removed meanwhile');
}

/** An operation whose new directives have the keys that they should have. */
export function keyedOperation(operation: TreeOperation, around: EditSurroundings): TreeOperation {
  if (operation.op !== 'add' && operation.op !== 'replace') return operation;
  const { tree, registry } = around;
  const parent = operation.op === 'add' ? operation.parent : (tree.parentOf(operation.directive.id)?.id ?? 0);
  const address = (): string => around.addresses.of(parent);
  return { ...operation, directive: withKeys(operation.directive, registry.contextWithin(tree, parent), around, address) };
}

function directiveOf(data: DirectiveData): Directive {
  const [directive] = toDirectives([data]);
  if (directive === undefined) throw new Error('a directive was parsed to nothing');
  return directive;
}

/**
 * The directive with a new key where it and what is in it should have one and has none.
 * @param block its address
 * @param own address of the directive itself; absent: that of the first of its kind in its block
 */
export function withKeys(
  data: DirectiveData,
  context: ContextName | undefined,
  around: EditSurroundings,
  block: () => string,
  own?: () => string,
): DirectiveData {
  const { registry } = around;
  const spec = context && registry.find(context, data.name)?.spec;
  const key = data.key ?? (spec?.keyed === true ? around.nextKey(block()) : undefined);
  const keyed = { ...data, ...(key !== undefined && { key }) };
  const inner = spec && blockContext(spec);
  if (data.block === undefined || inner === undefined || inner === 'entries') return keyed;
  const inside =
    own ?? ((): string => (context === undefined ? block() : addressIn(block(), stepOf(directiveOf(keyed), context, registry).text)));
  return { ...keyed, block: data.block.map((child) => withKeys(child, inner, around, inside)) };
}
