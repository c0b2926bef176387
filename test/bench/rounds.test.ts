import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { answers } from '../../tools/bench/http-probe.js';
import { Lab, quickPace } from '../../tools/bench/lab.js';
import type { Programs } from '../../tools/bench/programs.js';
import { measureRounds } from '../../tools/bench/rounds.js';
import type { Scenario } from '../../tools/bench/scenario.js';
import type { ServerKind } from '../../tools/bench/servers.js';
import { freePort } from '../harness/ports.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const waits = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
const server: ServerKind = { name: 'srv', files: () => ({}), command: () => waits, quit: 'SIGTERM' };

test('a measurement that does not end is a fault after its limit, its processes are killed, and the next one goes on', async (t) => {
  const lab = new Lab({} as Programs, quickPace, tempFolder(t));
  t.teardown(() => lab.close());
  const ends: (number | string | null)[] = [];
  let rounds = 0;
  const scenario: Scenario = {
    name: 'hangs',
    title: 'hangs',
    how: '',
    columns: [],
    limitSeconds: 0.3,
    obstacle: () => undefined,
    measure: async () => {
      if (++rounds === 2) return { figure: 1 };
      lab.processes.start(waits).child.on('exit', (code, signal) => ends.push(code ?? signal));
      await new Promise(() => undefined);
      return {};
    },
  };
  const { samples } = await measureRounds(lab, scenario, { servers: [server], rounds: 2, progress: () => undefined });
  t.deepEqual(
    samples.map(({ faults, figures }) => ({ faults, figures })),
    [
      { faults: ['did not end within 0.3 s'], figures: {} },
      { faults: [], figures: { figure: 1 } },
    ],
  );
  while (ends.length === 0) await delay(10);
  t.deepEqual(ends, ['SIGKILL']);
});

test('a program that does not end is killed, and says what it printed', async (t) => {
  const lab = new Lab({} as Programs, quickPace, tempFolder(t));
  t.teardown(() => lab.close());
  const program = ['/bin/sh', '-c', 'echo here; sleep 60'];
  await t.throwsAsync(lab.processes.run(program, {}, 1), { message: / did not end within 1 s: here$/ });
});

test('a server of HTTP/2 that closes a connection at its start is asked again', async (t) => {
  const port = await freePort(t);
  let asked = 0;
  const listener = createServer((socket) => {
    asked++;
    socket.on('error', () => undefined).end();
    socket.resume();
  }).listen(port, '127.0.0.1');
  t.teardown(() => listener.close());
  const lab = new Lab({} as Programs, quickPace, tempFolder(t));
  t.teardown(() => lab.close());
  const started = lab.processes.start(waits);
  const outcome = t.throwsAsync(answers({ port, path: '/', http2: true }, started), { message: /^ended before it responded/ });
  await waitFor('three connections', () => asked >= 3);
  started.child.kill('SIGKILL');
  await outcome;
});
