import test from 'ava';
import { parseCoreList, planCores } from '../../tools/bench/cores.js';

test('the list format of the kernel is read', (t) => {
  t.deepEqual(parseCoreList('0-3,8'), [0, 1, 2, 3, 8]);
  t.deepEqual(parseCoreList('5'), [5]);
});

test('the server under test has its core to itself wherever there are two', (t) => {
  for (const count of [2, 3, 4, 8, 64]) {
    const plan = planCores(parseCoreList(`0-${count - 1}`));
    t.deepEqual(plan.server, [0]);
    t.false([...plan.backend, ...plan.load].includes(0));
  }
});

test('with one core everything shares it', (t) => {
  t.deepEqual(planCores([3]), { all: [3], server: [3], backend: [3], load: [3] });
});

test('two workers get two cores, and load and backend share the others', (t) => {
  t.deepEqual(planCores([0, 1, 2, 3], 2), { all: [0, 1, 2, 3], server: [0, 1], backend: [2, 3], load: [2, 3] });
});
