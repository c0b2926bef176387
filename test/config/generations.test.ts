import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { Generations } from '../../core/config/generations.js';
import { waitFor } from '../harness/wait.js';

test('a resource is released when the last request that began with it is over', (t) => {
  const generations = new Generations();
  let released = 0;
  const resource = { release: () => void released++ };
  generations.begin([resource], []);
  const request = generations.enter();
  generations.begin([], [resource]);
  generations.enter();
  t.is(released, 0);
  request.leave();
  t.is(released, 1);
});

test('nothing holds the previous configuration before: changes cost no memory forever', async (t) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const generations = new Generations();
  const earlier = new WeakRef(generations.enter());
  earlier.deref()?.leave();
  for (let change = 0; change < 3; change++) generations.begin([], [{ release: () => undefined }]);
  await waitFor('the first generation to go', () => {
    collectGarbage();
    return earlier.deref() === undefined;
  });
  t.pass();
});
