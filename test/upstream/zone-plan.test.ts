import test from 'ava';
import { array, assert, constantFrom, nat, property, record } from 'fast-check';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource, type DirectiveData, type TreeOperation } from '../../core/config/tree.js';
import type { ArgContext } from '../../core/contract/spec.js';
import { HTTP_UPSTREAMS } from '../../core/upstream/upstream-engine.js';
import { ZonePlan, type ZoneChoice } from '../../core/upstream/zone-plan.js';

const args = {} as ArgContext;
const zones = constantFrom('', 'zone a 64k;', 'zone a;', 'zone a 128k;', 'zone b 64k;', 'zone b;');
const step = record({ zone: zones, pick: nat(20), kind: constantFrom('add', 'before', 'change', 'remove') });

const parse = (text: string, ids: IdSource): DirectiveData => parseText(text, { ids, file: 'x' }).directives[0]!;
const upstreamsIn = (tree: ConfigTree): number[] => Array.from([...tree.root][0]?.block ?? [], ({ id }) => id);

/** What becomes of each upstream. */
function choices(plan: ZonePlan, tree: ConfigTree): Map<number, ZoneChoice | string | undefined> {
  const choice = (id: number): ZoneChoice | string | undefined => {
    try {
      return plan.of(tree.byId(id)!);
    } catch (error) {
      return (error as Error).message;
    }
  };
  return new Map(upstreamsIn(tree).map((id) => [id, choice(id)]));
}

test('a plan that follows the changes says what one of the whole tree does, and names all whose zone has another size', (t) => {
  assert(
    property(array(array(step, { maxLength: 3 }), { maxLength: 12 }), (changes) => {
      const ids = new IdSource();
      let tree = ConfigTree.fromData([parse('http { }', ids)]);
      const http = [...tree.root][0]!.id;
      let plan = ZonePlan.empty(HTTP_UPSTREAMS);
      for (const steps of changes) {
        const touched = new Set<number>();
        const before = { plan, tree };
        for (const { zone, pick, kind } of steps) {
          const all = upstreamsIn(tree);
          const id = all[pick % all.length];
          const directive = parse(`upstream u { ${zone} server 127.0.0.1; }`, ids);
          const operation: TreeOperation =
            kind === 'add' || id === undefined
              ? { op: 'add', parent: http, directive }
              : kind === 'before'
                ? { op: 'add', parent: http, directive, before: id }
                : kind === 'remove'
                  ? { op: 'remove', id }
                  : { op: 'replace', directive: { ...directive, id } };
          touched.add(operation.op === 'remove' ? operation.id : operation.directive.id);
          tree = tree.apply([operation]);
        }
        plan = plan.after(touched, tree, args);
        const whole = ZonePlan.empty(HTTP_UPSTREAMS).after(upstreamsIn(tree), tree, args);
        const now = choices(plan, tree);
        t.deepEqual(now, choices(whole, tree));
        const [old, moved] = [choices(before.plan, before.tree), new Set(plan.moved(before.plan, touched))];
        for (const [id, choice] of now) {
          if (touched.has(id) || JSON.stringify(choice) === JSON.stringify(old.get(id))) continue;
          t.true(moved.has(id));
        }
        for (const id of moved) t.false(touched.has(id));
      }
    }),
    { numRuns: 200 },
  );
});
