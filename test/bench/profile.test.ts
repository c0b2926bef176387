import test from 'ava';
import { selfTimes } from '../../tools/bench/profile.js';

function node(id: number, functionName: string): Parameters<typeof selfTimes>[0]['nodes'][number] {
  return { id, callFrame: { functionName, url: '', lineNumber: 0, columnNumber: 0 } };
}

test('self time is summed by function over the places it was called from', (t) => {
  const profile = {
    nodes: [node(1, '(root)'), node(2, 'parse'), node(3, 'write'), node(4, 'parse')],
    samples: [2, 3, 4, 3],
    timeDeltas: [0, 100, 50, 200],
  };
  t.deepEqual(selfTimes(profile), [
    { label: 'parse', microseconds: 300 },
    { label: 'write', microseconds: 50 },
  ]);
});
