import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('a worker takes no more clients than worker_connections', async (t) => {
  const silent = await rawBackend(t, () => undefined);
  const srv = await startSrv(
    t,
    `events { worker_connections 8; }
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } location /slow { proxy_pass http://127.0.0.1:${silent.port}; } } }`,
    { allowCrashes: true },
  );
  const port = srv.port('web');
  const busy = await Promise.all([1, 2, 3, 4].map(() => connectRaw(t, port)));
  for (const connection of busy) connection.send(GET.replace('/', '/slow'));
  await waitFor('all to be at work', () => silent.connections === 4);
  const refused = await connectRaw(t, port);
  refused.send(GET);
  t.is(await refused.receiveAll(), '');
  await srv.waitForLog(/\[alert\] .*8 worker_connections are not enough$/m);
  busy[0]?.socket.destroy();
  await waitFor('a free place', async () => {
    const answer = await get(port, '/').catch(() => undefined);
    return answer?.body === 'ok';
  });
  t.pass();
});

test('connections to members take places: a request that needs one more is a 500', async (t) => {
  let open = 0;
  const silent = await rawBackend(t, (socket) => {
    open++;
    socket.resume().once('close', () => open--);
  });
  const srv = await startSrv(
    t,
    `worker_processes 1;
    events { worker_connections 5; }
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${silent.port}; } } }`,
    { allowCrashes: true },
  );
  const port = srv.port('web');
  // Several times: each place is released, and once.
  for (let round = 1; round <= 4; round++) {
    const busy = await Promise.all([1, 2].map(() => connectRaw(t, port)));
    for (const connection of busy) connection.send(GET);
    await waitFor('both to be at work', () => open === 2);
    t.is((await get(port, '/')).status, 500, String(round));
    for (const { socket } of busy) socket.destroy();
    await waitFor('the end of both', () => open === 0);
  }
  await srv.waitForLog(/\[alert\] .*5 worker_connections are not enough while connecting to upstream, client: 127\.0\.0\.1/);
});

test('requests to members of HTTP/2 take places as well: one that comes back to the server ends', async (t) => {
  const srv = await startSrv(
    t,
    `worker_processes 1;
    events { worker_connections 40; }
    http {
      log_format hops '$status';
      access_log logs/hops.log hops;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        http2 on;
        location / { proxy_http_version 2; proxy_pass http://127.0.0.1:%%PORT_web%%; }
        location /grpc { grpc_pass 127.0.0.1:%%PORT_web%%; }
        location /ok { proxy_http_version 2; proxy_pass http://127.0.0.1:%%PORT_web%%/done; }
        location /done { return 200 ok; }
      }
    }`,
    { allowCrashes: true },
  );
  const port = srv.port('web');
  // The places are free again afterwards.
  for (const [path, hops] of [
    ['/', 41],
    ['/grpc', 82],
  ] as const) {
    t.is((await get(port, path)).status, 500);
    await srv.waitForLog(new RegExp(`^(500\\n){${hops}}$`), 'logs/hops.log');
  }
  await srv.waitForLog(/\[alert\] .*40 worker_connections are not enough while connecting to upstream, client: 127\.0\.0\.1/);
  t.is((await get(port, '/ok')).body, 'ok');
});

test('idle connections give way to new clients, the longest idle first', async (t) => {
  const silent = await rawBackend(t, () => undefined);
  const srv = await startSrv(
    t,
    `error_log logs/error.log warn;
    events { worker_connections 11; }
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } location /slow { proxy_pass http://127.0.0.1:${silent.port}; } } }`,
  );
  const port = srv.port('web');
  const busy = await connectRaw(t, port);
  busy.send(GET.replace('/', '/slow'));
  await waitFor('it to be at work', () => silent.connections === 1);
  const amidst = await connectRaw(t, port);
  amidst.send('GET / HTTP/1.1\r\n');
  const unused = await connectRaw(t, port);
  const clients: RawConnection[] = [];
  for (let at = 0; at < 30; at++) {
    const client = await connectRaw(t, port);
    client.send(GET);
    await client.receive(/ok$/);
    if (at === 6) {
      clients[0]?.take();
      clients[0]?.send(GET);
      await clients[0]?.receive(/ok$/);
    }
    clients.push(client);
    if (at === 7) t.true(unused.closed, 'it was idle from the beginning');
    if (at === 8)
      t.deepEqual(
        clients.slice(0, 3).map((each) => each.closed),
        [false, true, false],
        'used again since',
      );
  }
  await waitFor('the old ones to be closed', () => clients.filter((each) => !each.closed).length === 8);
  t.true(clients.slice(-8).every((each) => !each.closed));
  t.deepEqual([busy.closed, amidst.closed], [false, false], 'they are not idle');
  await srv.waitForLog(/\[warn\] .*11 worker_connections are not enough, reusing connections/);
});
