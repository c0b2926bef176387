import test from 'ava';
import { threadId } from 'node:worker_threads';
import { Lock } from '../../core/zone/lock.js';

const words = () => new Int32Array(new SharedArrayBuffer(8));
/** The word as thread `id` would leave it. */
const heldBy = (id: number) => id + 1;

test('a lock is taken and given back', (t) => {
  const memory = words();
  const lock = new Lock(memory, 1);
  t.false(lock.acquire());
  t.is(memory[1], heldBy(threadId));
  lock.release();
  t.deepEqual([...memory], [0, 0]);
});

test('whoever takes the lock after a dead thread is told so, the next one is not', (t) => {
  const memory = words();
  const lock = new Lock(memory, 0);
  memory[0] = heldBy(77);
  t.false(lock.releaseOf(78));
  t.true(lock.releaseOf(77));
  t.true(lock.acquire());
  lock.release();
  t.false(lock.acquire());
});

test('a holder that shows no sign of life loses the lock, and cannot free it any more', (t) => {
  const memory = words();
  const lock = new Lock(memory, 0, 300);
  memory[0] = heldBy(77);
  t.true(lock.acquire());
  memory[0] = heldBy(77);
  lock.release();
  t.is(memory[0], heldBy(77));
});
