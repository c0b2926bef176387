import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { processTree, readProcess } from '../../tools/bench/process-tree.js';
import { Processes, type Started } from '../../tools/bench/processes.js';
import { cpuTime, residentBytes } from '../../tools/bench/usage.js';

/** Works for a moment and then lives on. */
const child = `while (process.cpuUsage().user < 150_000); setInterval(() => {}, 1000);`;

/** A Node program that starts another one in a process group of its own, so that only the tree leads to it. */
const parent = [
  process.execPath,
  '-e',
  `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { detached: true, stdio: 'ignore' });
   setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit(0));`,
];

async function startFamily(t: ExecutionContext): Promise<{ processes: Processes; started: Started; pids: number[] }> {
  const processes = new Processes(undefined);
  t.teardown(() => processes.killAll());
  const started = processes.start(parent);
  // A child is in the tree before it is a program of its own, which is when it has memory.
  for (;;) {
    const pids = processTree(started.pid).map(({ pid }) => pid);
    if (pids.length === 2 && pids.every((pid) => residentBytes(pid) > 2 ** 22)) return { processes, started, pids };
    await delay(10);
  }
}

async function gone(pids: readonly number[]): Promise<boolean> {
  for (let tries = 0; tries < 500; tries++) {
    if (pids.every((pid) => readProcess(pid) === undefined)) return true;
    await delay(10);
  }
  return false;
}

test('a stopped process takes what it started along, and it is counted', async (t) => {
  const { processes, started, pids } = await startFamily(t);
  t.is(await processes.stop(started), 1);
  t.true(await gone(pids));
});

test('everything that runs can be ended at once', async (t) => {
  const { processes, pids } = await startFamily(t);
  processes.killAll();
  t.true(await gone(pids));
});

test('memory of a server is that of its whole tree', async (t) => {
  const { started, pids } = await startFamily(t);
  const child = residentBytes(pids[1] ?? 0);
  t.true(residentBytes(started.pid) >= child + 2 ** 22);
});

test('processor time of a server is that of its whole tree', async (t) => {
  const { started, pids } = await startFamily(t);
  const child = pids[1] ?? 0;
  while (ownTicks(child) < 5) await delay(10);
  const parts = ownTicks(started.pid) + ownTicks(child);
  const { user, system } = cpuTime(started.pid);
  t.true(Math.round((user + system) * 100) >= parts);
});

/** Hundredths of a second that the process alone used. */
function ownTicks(pid: number): number {
  const stat = readProcess(pid);
  return stat === undefined ? 0 : stat.userTicks + stat.systemTicks;
}

test('a program that fails is an error with what it printed', async (t) => {
  const processes = new Processes(undefined);
  await t.throwsAsync(processes.run([process.execPath, '-e', 'console.error("no luck"); process.exit(3)']), {
    message: /ended with 3: no luck/,
  });
  t.is(await processes.run([process.execPath, '-e', 'process.stdout.write("fine")']), 'fine');
});
