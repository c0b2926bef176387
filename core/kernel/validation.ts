import type { ConfigError } from '../config/errors.js';
import { ROOT_ID, type Tree, type TreeOperation } from '../config/tree.js';
import { validate } from '../config/validate.js';
import type { Directive } from '../contract/tree.js';
import type { RunningModules } from './running-modules.js';

/** The errors in additions of a change, checked by the specs of the modules after it. Does not check unchanged parts. */
export function validateChange(before: Tree, after: Tree, operations: readonly TreeOperation[], modules: RunningModules): ConfigError[] {
  const holders = new Set<Directive>();
  const added = new Set<number>();
  const errors = operations.flatMap((operation) => {
    const holder = entryHolder(after, operation, modules);
    if (holder === undefined) return validateOperation({ before, after, added }, operation, modules);
    holders.add(holder);
    return [];
  });
  return [...errors, ...[...holders].flatMap((holder) => validateIn(after, holder, modules))];
}

/** The directive with entries (`map`, `types`) that an operation changes one of: the entry is a part of it. */
function entryHolder(after: Tree, operation: TreeOperation, { registry }: RunningModules): Directive | undefined {
  if (operation.op !== 'add' && operation.op !== 'replace') return undefined;
  const { id } = operation.directive;
  return registry.contextOf(after, id) === 'entries' ? after.parentOf(id) : undefined;
}

function validateIn(tree: Tree, directive: Directive, { registry, args, streamArgs }: RunningModules): ConfigError[] {
  const context = registry.contextOf(tree, directive.id);
  return validate([directive], { registry, args, streamArgs, ...(context !== undefined && { context }) });
}

/** A change, and the ids of what the operations so far have added. */
interface Validated {
  readonly before: Tree;
  readonly after: Tree;
  readonly added: Set<number>;
}

function validateOperation(
  { before, after, added }: Validated,
  operation: TreeOperation,
  { registry, args, streamArgs }: RunningModules,
): ConfigError[] {
  if (operation.op === 'remove' || operation.op === 'move') return [];
  if (operation.op === 'root') return validate(after.root, { registry, args, streamArgs });
  const { directive } = operation;
  const context = registry.contextOf(after, directive.id);
  const options = { registry, args, streamArgs, ...(context !== undefined && { context }) };
  if (operation.op === 'replace') return validate([directive], options);
  const block = operation.parent === ROOT_ID ? after.root : after.byId(operation.parent)?.block;
  const wasThere = ({ id }: Directive): boolean => id !== directive.id && (before.byId(id) !== undefined || added.has(id));
  const beside = (name: string): boolean => block !== undefined && Array.from(block.named(name)).some(wasThere);
  const errors = validate([directive], { ...options, beside });
  added.add(directive.id);
  return errors;
}
