/** Random changes of a tree, for property tests. */
import * as fc from 'fast-check';
import { parseText } from '../../core/config/parser.js';
import type { ConfigTree, DirectiveData, IdSource, TreeOperation } from '../../core/config/tree.js';
import type { Directive } from '../../core/contract/tree.js';

export interface Step {
  readonly kind: 'add' | 'before' | 'move' | 'replace' | 'remove';
  readonly pick: number;
  readonly other: number;
}

function* all(directives: Iterable<Directive>): Generator<Directive> {
  for (const directive of directives) {
    yield directive;
    yield* all(directive.block ?? []);
  }
}

const dataOf = (text: string, ids: IdSource): DirectiveData => parseText(text, { ids, file: 'x' }).directives[0]!;

/** One operation that the tree allows. */
export function operationOf(tree: ConfigTree, { kind, pick, other }: Step, ids: IdSource): TreeOperation | undefined {
  const directives = [...all(tree.root)];
  const target = directives[pick % directives.length];
  if (target === undefined) return undefined;
  const parent = tree.parentOf(target.id);
  const siblings = [...(parent?.block ?? tree.root)];
  const sibling = siblings[other % siblings.length]!;
  const fresh = dataOf(other % 2 === 0 ? `n${ids.next()};` : `n${ids.next()} { x; y { z; } }`, ids);
  if (kind === 'remove') return { op: 'remove', id: target.id };
  if (kind === 'replace') return { op: 'replace', directive: replacement(target, other, ids) };
  if (kind === 'move') return { op: 'move', id: target.id, ...(sibling.id !== target.id && { before: sibling.id }) };
  if (kind === 'before') return { op: 'add', parent: parent?.id ?? 0, directive: fresh, before: target.id };
  return { op: 'add', parent: target.block === undefined ? (parent?.id ?? 0) : target.id, directive: fresh };
}

/** With another argument, and of its block every other directive. */
function replacement({ id, name, block, source }: Directive, other: number, ids: IdSource): DirectiveData {
  const kept = block && Array.from(block).filter((_, at) => (at + other) % 2 === 0);
  const args = [{ text: String(ids.next()), line: 0, column: 0 }];
  return { id, name, args, source, ...(kept && { block: kept.map((child) => JSON.parse(JSON.stringify(plain(child))) as DirectiveData) }) };
}

function plain({ block, ...rest }: Directive): object {
  return { ...rest, ...(block && { block: Array.from(block, plain) }) };
}

const kinds = fc.constantFrom<Step['kind']>('add', 'before', 'move', 'replace', 'remove');

export const steps = fc.array(fc.record({ kind: kinds, pick: fc.nat(30), other: fc.nat(30) }), { maxLength: 12 });
