import test from 'ava';
import * as fc from 'fast-check';
import { IdMap } from '../../core/config/id-map.js';

const id = fc.oneof(fc.nat(40), fc.nat(3000), fc.nat(2 ** 31 - 1), fc.maxSafeNat());

test('holds what a Map holds, in every version', (t) => {
  const step = fc.record({ id, set: fc.boolean(), commit: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const model = new Map<number, number>();
    const draft = IdMap.empty<number>().edit();
    const versions: [IdMap<number>, ReadonlyMap<number, number>][] = [];
    for (const [i, { id, set, commit }] of steps.entries()) {
      if (set) {
        draft.set(id, i);
        model.set(id, i);
      } else {
        draft.delete(id);
        model.delete(id);
      }
      if (commit) versions.push([draft.commit(), new Map(model)]);
    }
    versions.push([draft.commit(), model]);
    for (const [version, expected] of versions) {
      t.is(version.size, expected.size);
      for (const { id } of steps) t.is(version.get(id), expected.get(id));
    }
  });
  t.notThrows(() => fc.assert(property, { numRuns: 200 }));
});

test('a draft that is dropped leaves no trace', (t) => {
  const draft = IdMap.empty<string>().edit();
  draft.set(5, 'a');
  const version = draft.commit();
  const dropped = version.edit();
  dropped.set(5, 'b');
  dropped.set(1_000_000, 'c');
  dropped.delete(5);
  t.is(version.get(5), 'a');
  t.is(version.get(1_000_000), undefined);
});
