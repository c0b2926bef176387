import test from 'ava';
import { ChangeGroups } from '../../core/changes/change-groups.js';

test('each change after the end of the queue is rejected, not only the first', async (t) => {
  const groups = new ChangeGroups<string>(
    () => Promise.reject(new Error('over')),
    () => Promise.resolve(),
  );
  for (const build of ['first', 'second', 'third']) await t.throwsAsync(groups.add(build, {}), { message: 'over' }, build);
});
