import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { connectRaw } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { runTime } from '../../tools/bench/usage.js';

const CONNECTIONS = 300;
const WATCHED_SECONDS = 3;

test('a server whose connections are all idle uses less than a thousandth of a core', async (t) => {
  const srv = await startSrv(t, 'worker_processes 1; events {} http { server { listen 127.0.0.1:%%PORT_web%%; return 200; } }');
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(t, srv.port('web'))));
  for (const connection of connections) connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  for (const connection of connections) await connection.receive(/200 OK/);
  t.true(
    await waitFor(
      'the server to rest',
      async () => {
        const before = runTime(srv.pid);
        await sleep(WATCHED_SECONDS * 1000);
        return runTime(srv.pid) - before < WATCHED_SECONDS / 1000;
      },
      30_000,
    ),
  );
  t.true(connections.every(({ closed }) => !closed));
});
