/** The process has no descriptors left: who is turned away, who is to blame, and how it ends. */
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { datagramBackend, datagramClient } from '../harness/datagrams.js';
import { descriptorLimit, limitDescriptors, openDescriptors } from '../harness/descriptors.js';
import { testWith } from '../harness/programs.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

async function start(t: ExecutionContext): Promise<Srv> {
  const backends = await Promise.all([1, 2].map(() => httpBackend(t, (_, response) => response.end('hello'))));
  return startSrv(
    t,
    `worker_processes 1;
    error_log logs/error.log notice;
    events {}
    http {
      upstream members { ${backends.map(({ port }) => `server 127.0.0.1:${port};`).join(' ')} }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://members; } }
    }`,
    // What is logged at "alert" is expected here.
    { allowCrashes: true },
  );
}

test('clients beyond the limit of descriptors are turned away and logged; those that are connected are served', async (t) => {
  const srv = await start(t);
  const { soft } = descriptorLimit(srv.pid);
  const limit = openDescriptors(srv.pid) + 40;
  limitDescriptors(srv.pid, limit);
  const first = await connectRaw(t, srv.port('web'));
  const crowd: RawConnection[] = [];
  for (let i = 0; i < 60; i++) crowd.push(await connectRaw(t, srv.port('web')));
  await srv.waitForLog(/\[crit\] \d+#\d+: accept4\(\) failed \(24: Too many open files\)/);
  await waitFor('some to be closed', () => crowd.some(({ closed }) => closed));
  t.true(crowd.some(({ closed }) => !closed));
  // Descriptors are kept for what those that are connected need.
  first.send(REQUEST);
  await first.receive(/ 200 OK[^]*hello$/);
  for (const { socket } of crowd) socket.destroy();
  await waitFor('their end', () => openDescriptors(srv.pid) < limit - 30);
  t.is((await get(srv.port('web'), '/')).status, 200);
  limitDescriptors(srv.pid, soft);
});

test('a member is not to blame for want of descriptors: 500, and all is well as soon as there are some', async (t) => {
  const srv = await start(t);
  const before = openDescriptors(srv.pid);
  const clients = await Promise.all(Array.from({ length: 8 }, () => connectRaw(t, srv.port('web'))));
  await waitFor('all of them to be accepted', () => openDescriptors(srv.pid) >= before + clients.length);
  const { soft } = descriptorLimit(srv.pid);
  limitDescriptors(srv.pid, 10);
  for (const client of clients) client.send(REQUEST);
  for (const client of clients) await client.receive(/ 500 Internal Server Error/);
  t.regex(srv.log(), /\[alert\] .*socket\(\) failed \(24: Too many open files\) while connecting to upstream, client/);
  limitDescriptors(srv.pid, soft);
  for (const client of clients) client.take();
  for (let i = 0; i < 4; i++) t.is((await get(srv.port('web'), '/')).status, 200);
  t.notRegex(srv.log(), /temporarily disabled|no live upstreams/);
});

test('sessions over UDP leave the descriptors that are kept for others', async (t) => {
  const member = await datagramBackend(t, (bytes, send) => send(String(bytes)));
  const srv = await startSrv(
    t,
    `worker_processes 1; error_log logs/error.log notice; events {}
    stream { server { listen 127.0.0.1:%%PORT_udp%% udp; proxy_pass 127.0.0.1:${member.port}; } }`,
    { allowCrashes: true },
  );
  const limit = openDescriptors(srv.pid) + 40;
  const reserve = Math.floor(limit / 8);
  limitDescriptors(srv.pid, limit);
  const first = await datagramClient(t, srv.port('udp'));
  t.is(await first.ask('first'), 'first');
  for (let i = 0; i < 60; i++) (await datagramClient(t, srv.port('udp'))).send('more');
  await srv.waitForLog(/\[crit\] \d+#\d+: socket\(\) failed \(24: Too many open files\), datagrams of new clients are dropped/);
  t.is(await first.ask('again'), 'again');
  // A session that is turned away has one for a moment.
  await waitFor('room for others', () => openDescriptors(srv.pid) <= limit - reserve + 1);
});

testWith('prlimit')('worker_rlimit_nofile (prlimit)', async (t) => {
  const srv = await startSrv(t, 'worker_rlimit_nofile 777; events {}');
  t.is(descriptorLimit(srv.pid).soft, '777');
});

testWith('prlimit')('worker_rlimit_nofile beyond what the system allows (prlimit)', async (t) => {
  const srv = await startSrv(t, 'worker_rlimit_nofile 2147483647; events {}', { allowCrashes: true });
  t.regex(
    srv.log(),
    /\[alert\] .* setrlimit\(RLIMIT_NOFILE, 2147483647\) failed: prlimit: .*Operation not permitted\. start the server as root/,
  );
});
