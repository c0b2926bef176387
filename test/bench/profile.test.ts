import test from 'ava';
import { selfTimes, sourceTimes } from '../../tools/bench/profile.js';

function node(id: number, functionName: string, children: number[], url = ''): Parameters<typeof selfTimes>[0]['nodes'][number] {
  return { id, children, callFrame: { functionName, url, lineNumber: 0, columnNumber: 0 } };
}

/** serve calls write of Node, which calls a native function; parse is called from two places. */
const profile = {
  nodes: [
    node(1, '(root)', [2, 5, 6]),
    node(2, 'serve', [3, 7], 'file:///nowhere/serve.js'),
    node(3, 'write', [4], 'node:net'),
    node(4, 'writeBuffer', []),
    node(5, '(idle)', []),
    node(6, 'parse', [], 'file:///nowhere/parse.js'),
    node(7, 'parse', [], 'file:///nowhere/parse.js'),
  ],
  samples: [2, 4, 5, 6, 7, 3, 5],
  timeDeltas: [0, 100, 50, 1000, 200, 30, 7],
};

function names(times: ReturnType<typeof selfTimes>): [string, number][] {
  return times.map(({ label, microseconds }) => [label.split(' ')[0] ?? '', microseconds]);
}

test('self time is summed by function over the places it was called from, without idle time', (t) => {
  t.deepEqual(names(selfTimes(profile)), [
    ['parse', 230],
    ['serve', 100],
    ['writeBuffer', 50],
    ['write', 7],
  ]);
});

test('time of Node and of native functions is booked on the function of srv that called them', (t) => {
  t.deepEqual(names(sourceTimes(profile)), [
    ['parse', 230],
    ['serve', 157],
  ]);
});
