import test from 'ava';
import * as fc from 'fast-check';
import { netOperations } from '../../core/config/net-operations.js';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { operationOf, steps } from './random-operations.js';

const TEXT = 'a { b; c { d; e; f { g; } } h; } i; j { k { l; } m; }';

const known = (tree: ConfigTree, id: number): boolean => id === 0 || tree.byId(id) !== undefined;

test('a chain of operations comes to operations that do the same at once, none about what another one does', (t) => {
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
