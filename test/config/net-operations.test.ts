import test from 'ava';
import * as fc from 'fast-check';
import { netOperations } from '../../core/config/net-operations.js';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource, type DirectiveData, type TreeOperation } from '../../core/config/tree.js';
import type { Directive } from '../../core/module/tree.js';

const TEXT = 'a { b; c { d; e; f { g; } } h; } i; j { k { l; } m; }';

interface Step {
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
function operationOf(tree: ConfigTree, { kind, pick, other }: Step, ids: IdSource): TreeOperation | undefined {
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

const known = (tree: ConfigTree, id: number): boolean => id === 0 || tree.byId(id) !== undefined;

test('a chain of operations comes to operations that do the same at once, none about what another one does', (t) => {
  const kinds = fc.constantFrom<Step['kind']>('add', 'before', 'move', 'replace', 'remove');
  const steps = fc.array(fc.record({ kind: kinds, pick: fc.nat(30), other: fc.nat(30) }), { maxLength: 12 });
  const property = fc.property(steps, (steps) => {
    const ids = new IdSource();
    const before = ConfigTree.fromData(parseText(TEXT, { ids, file: 'x' }).directives);
    let after = before;
    const operations = steps.flatMap((step) => {
      const operation = operationOf(after, step, ids);
      if (operation !== undefined) after = after.apply([operation]);
      return operation ?? [];
    });
    const net = netOperations(before, after, operations);
    t.deepEqual(before.apply(net).toData(), after.toData());
    const subjects = net.map((operation) =>
      operation.op === 'add' || operation.op === 'replace' ? operation.directive.id : operation.op === 'root' ? 0 : operation.id,
    );
    for (const [at, operation] of net.entries()) {
      if (operation.op === 'add') t.true(known(before, operation.parent));
      if (operation.op === 'add' || operation.op === 'move') t.true(operation.before === undefined || known(before, operation.before));
      if (operation.op === 'remove' || operation.op === 'replace')
        t.is(
          net.findIndex((one, i) => one.op === operation.op && subjects[i] === subjects[at]),
          at,
        );
    }
  });
  fc.assert(property, { numRuns: 500 });
});
