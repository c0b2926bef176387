/** The checker of histories finds what it is for. */
import test from 'ava';
import { historyFaults, type Increment } from './histories.js';

const made = (value: number, began: number, ended: number): Increment => ({ value, began, ended, outcome: 'made' });

test('a history that one order explains has no faults, others have', (t) => {
  t.deepEqual(historyFaults([made(1, 0, 5), made(2, 3, 9), { value: 3, began: 9, ended: 20, outcome: 'unknown' }, made(4, 10, 12)], 4), []);
  t.deepEqual(historyFaults([made(1, 0, 5), { value: 2, began: 6, ended: 20, outcome: 'unknown' }], 1), []);
  t.regex(historyFaults([made(1, 0, 5), made(1, 6, 9)], 1).join(), /1 was made twice/);
  t.regex(historyFaults([made(2, 0, 5), made(1, 6, 9)], 2).join(), /1 began after a greater one had ended/);
  t.regex(historyFaults([made(1, 0, 5), made(3, 6, 9)], 3).join(), /2 is missing/);
  t.regex(historyFaults([made(1, 0, 5), made(2, 6, 9)], 1).join(), /2 was made, but 1 is the last one/);
});
