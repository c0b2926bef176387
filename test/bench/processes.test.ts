import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { processTree, readProcess } from '../../tools/bench/process-tree.js';
import { Processes } from '../../tools/bench/processes.js';
import { cpuTime, residentBytes } from '../../tools/bench/usage.js';

/** A Node program that starts another one in a process group of its own, so that only the tree leads to it. */
const parent = [
  process.execPath,
  '-e',
  `require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
   setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit(0));`,
];

async function startFamily(processes: Processes): Promise<{ started: ReturnType<Processes['start']>; pids: number[] }> {
  const started = processes.start(parent);
  while (processTree(started.pid).length < 2) await delay(10);
  return { started, pids: processTree(started.pid).map(({ pid }) => pid) };
}

async function gone(pids: readonly number[]): Promise<boolean> {
  for (let tries = 0; tries < 500; tries++) {
    if (pids.every((pid) => readProcess(pid) === undefined)) return true;
    await delay(10);
  }
  return false;
}

test('a stopped process takes what it started along, and it is counted', async (t) => {
  const processes = new Processes(undefined);
  const { started, pids } = await startFamily(processes);
  t.is(await processes.stop(started), 1);
  t.true(await gone(pids));
});

test('everything that runs can be ended at once', async (t) => {
  const processes = new Processes(undefined);
  const { pids } = await startFamily(processes);
  processes.killAll();
  t.true(await gone(pids));
});

test('processor time and memory of a server are those of its whole tree', async (t) => {
  const processes = new Processes(undefined);
  const { started, pids } = await startFamily(processes);
  t.true(pids.length >= 2);
  const [total, child] = [residentBytes(started.pid), residentBytes(pids[1] ?? 0)];
  t.true(child > 0);
  t.true(total > child);
  t.true(cpuTime(started.pid).user + cpuTime(started.pid).system > 0);
  await processes.stop(started);
});

test('a program that fails is an error with what it printed', async (t) => {
  const processes = new Processes(undefined);
  await t.throwsAsync(processes.run([process.execPath, '-e', 'console.error("no luck"); process.exit(3)']), {
    message: /ended with 3: no luck/,
  });
  t.is(await processes.run([process.execPath, '-e', 'process.stdout.write("fine")']), 'fine');
});
