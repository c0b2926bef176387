/** Actions and tasks of modules that hang the main thread, or never finish. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { ActionLimit } from '../../core/kernel/action-limit.js';
import { CallLimit } from '../../core/kernel/call-limit.js';
import { LoopGuard } from '../../core/kernel/loop-guard.js';
import { ModuleTasks } from '../../core/kernel/module-tasks.js';
import type { ActionContext } from '../../core/contract/control.js';
import { MemoryLog } from '../control/memory-log.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

type Action = (context: ActionContext) => unknown;

const CONTEXT: ActionContext = { dryRun: false, requestId: 'r1' };
const WAIT = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';

/** An action in a file of its own: code of srv is not ended. */
async function action(t: ExecutionContext, source: string): Promise<Action> {
  const folder = tempFolder(t);
  writeInto(folder, 'action.mjs', `export const action = ${source};`);
  return ((await import(pathToFileURL(`${folder}/action.mjs`).href)) as { action: Action }).action;
}

const guard = new LoopGuard(300);
const call = (carryOut: Action, ms: number): Promise<unknown> => new ActionLimit(guard, ms).call(carryOut, CONTEXT, new CallLimit(ms).run);

for (const [what, source, reason] of [
  ['loops', `() => { for (;;); }`, 'it did not return within 0.3 s'],
  [
    'loops once it has waited',
    `async () => { await new Promise((done) => setTimeout(done, 1)); for (;;); }`,
    'it did not finish within 0.3 s',
  ],
  [
    'stands still once it has waited',
    `async () => { await new Promise((done) => setTimeout(done, 1)); ${WAIT} }`,
    'it did not finish within 0.3 s',
  ],
  ['never finishes', `() => new Promise(() => {})`, 'it did not finish within 0.3 s'],
] as const) {
  test.serial(`an action that ${what} fails, and the thread goes on`, async (t) => {
    await t.throwsAsync(call(await action(t, source), 300), { message: reason });
    t.is(await call(await action(t, `async () => 'fine'`), 300), 'fine');
  });
}

test.serial('an action gets the time that it asks for', async (t) => {
  const slow = await action(
    t,
    `async ({ extendDeadline }) => { extendDeadline(400); await new Promise((done) => setTimeout(done, 300)); return 'late'; }`,
  );
  t.is(await call(slow, 100), 'late');
});

test.serial('a task that loops is ended, and runs again', async (t) => {
  const log = new MemoryLog();
  const tasks = new ModuleTasks('acme', log, new CallLimit(300).run);
  tasks.open();
  let runs = 0;
  const task = tasks.every(10, () => {
    while (runs++ === 0) for (;;);
  });
  await waitFor('the next run', () => runs > 1);
  task.cancel();
  await tasks.close();
  t.regex(log.lines.join('\n'), /^\[error\] module "acme": task failed: Error: it did not return within 0\.3 s/);
});

test.serial('what srv itself does for long is not ended', async (t) => {
  const work = guard.during(sleep(1200));
  // The guard has to watch already.
  await sleep(300);
  const end = Date.now() + 800;
  while (Date.now() < end);
  t.pass();
  await work;
});
