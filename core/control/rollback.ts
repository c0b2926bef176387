/** The way back to an earlier version: what transactions wrote into the history, turned around. */
import type { SpecRegistry } from '../config/registry.js';
import type { IdSource, Tree, TreeOperation } from '../config/tree.js';
import { ApiError } from '../module/control.js';
import { printDirective } from '../module/print.js';
import { readable, stepsIn } from './address.js';
import { Draft } from './draft.js';
import type { ResolvedEdit } from './edits.js';
import type { AddressChange } from './journal-entry.js';
import { parseDirective, toDirectives } from './parse-directive.js';

export interface RollbackSurroundings {
  readonly tree: Tree;
  readonly registry: SpecRegistry;
  readonly ids: IdSource;
}

/**
 * Edits that take changes back.
 * @param changes of all transactions in question, the newest first
 * @throws ApiError 409 `RollbackImpossible` when what a change is about stood in a block that is not there any more
 */
export function rollbackEdits(changes: Iterable<AddressChange>, around: RollbackSurroundings): ResolvedEdit[] {
  const wanted = new Map<string, string | undefined>();
  for (const { address, before } of changes) wanted.set(address, before);
  const draft = Draft.root(around.tree.root, around.registry);
  // What is in a block that comes back is put right after it.
  const places = [...wanted].map(([address, text]) => ({ address, text, steps: stepsIn(address) }));
  for (const place of places.toSorted((a, b) => a.steps.length - b.steps.length)) restore(draft, place, around);
  return draft.operations().map((operation) => ({ op: opOf(operation), id: idOf(operation), operations: [operation] }));
}

interface Place {
  readonly address: string;
  /** Undefined: nothing was there. */
  readonly text: string | undefined;
  readonly steps: readonly string[];
}

function restore(root: Draft, { address, text, steps }: Place, { ids }: RollbackSurroundings): void {
  let parent: Draft | undefined = root;
  for (const step of steps.slice(0, -1)) parent = parent?.child(step);
  const step = steps.at(-1) ?? '';
  const target = parent?.child(step);
  if (text === undefined) {
    if (target !== undefined) target.removed = true;
    return;
  }
  if (parent?.children === undefined)
    throw new ApiError(409, 'RollbackImpossible', `${readable(address)} stood in a block that the configuration does not have any more`);
  if (target !== undefined && printDirective(target.directive) === text) return;
  const key = /^(?:\d+:)?\w+@(\d+)$/.exec(step)?.[1];
  const [directive] = toDirectives([{ ...parseDirective(text, ids), ...(key !== undefined && { key: Number(key) }) }]);
  if (directive === undefined) throw new Error('a directive of the history was parsed to nothing');
  if (target === undefined) parent.insert(directive, address, step);
  else target.replaceWith(directive);
}

function opOf({ op }: TreeOperation): ResolvedEdit['op'] {
  if (op === 'root' || op === 'move') throw new ApiError(409, 'RollbackImpossible', 'the changes are too many for one step back');
  return op;
}

const idOf = (operation: TreeOperation): number =>
  operation.op === 'add' || operation.op === 'replace' ? operation.directive.id : operation.op === 'remove' ? operation.id : 0;
