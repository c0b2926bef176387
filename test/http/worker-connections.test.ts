import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

test('a worker takes no more clients than worker_connections', async (t) => {
  const srv = await startSrv(
    t,
    `events { worker_connections 4; }
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } } }`,
    { allowCrashes: true },
  );
  const port = srv.port('web');
  const served = await Promise.all([1, 2, 3, 4].map(() => connectRaw(t, port)));
  for (const connection of served) {
    connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await connection.receive(/ok$/);
  }
  const refused = await connectRaw(t, port);
  refused.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.is(await refused.receiveAll(), '');
  await srv.waitForLog(/\[alert\] .*4 worker_connections are not enough/);
  served[0]?.socket.destroy();
  await waitFor('a free place', async () => {
    const answer = await get(port, '/').catch(() => undefined);
    return answer?.body === 'ok';
  });
  t.pass();
});
