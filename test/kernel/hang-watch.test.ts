import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { HangWatch } from '../../core/master/hang-watch.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

test('who has no processor, or makes progress, does not hang; who gives no sign of life in ten seconds of its own does', async (t) => {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  const folder = tempFolder(t, { schedstat: '1000 0 1' });
  // On the run queue all the time.
  const beat = setInterval(() => writeFileSync(join(folder, 'schedstat'), `1000 ${Math.round(elapsed() * 1e6)} 1`), 20);
  const hung = new Map<string, string>();
  const watch = (name: string, more: { folder?: string; progress?: () => number }): HangWatch =>
    new HangWatch({ ask: () => undefined, onHang: (reason) => hung.set(name, reason), progress: more.progress, folder: () => more.folder });
  const watches = [watch('starved', { folder }), watch('busy', { progress: elapsed }), watch('silent', {})];
  t.teardown(() => {
    clearInterval(beat);
    for (const each of watches) each.responded();
  });
  for (const each of watches) each.ask();
  const responds = watch('responds', {});
  responds.ask();
  responds.responded();
  await waitFor('the silent one', () => hung.has('silent'), 30_000);
  await waitFor('a little more', () => elapsed() > 13_000, 30_000);
  t.deepEqual([...hung.keys()], ['silent']);
  t.is(hung.get('silent'), 'it hangs: no response for 10 s');
});
