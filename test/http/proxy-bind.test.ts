import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('proxy_bind: connections come from an address, which may follow from the request', async (t) => {
  const { port } = await httpBackend(t, ({ socket }, response) => response.end(socket.remoteAddress));
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; events {} http {
      upstream kept { server 127.0.0.1:${port}; keepalive 8; }
      proxy_bind 127.0.0.3;
      server { listen 127.0.0.1:%%PORT_web%%;
        location /fixed { proxy_pass http://127.0.0.1:${port}; }
        location /off { proxy_bind off; proxy_pass http://127.0.0.1:${port}; }
        location /asked { proxy_bind $arg_from; proxy_pass http://kept; } } }`,
  );
  const from = async (path: string): Promise<string> => (await get(srv.port('web'), path)).body;
  t.is(await from('/fixed'), '127.0.0.3');
  t.is(await from('/off'), '127.0.0.1');
  for (let round = 0; round < 2; round++)
    for (const address of ['127.0.0.4', '127.0.0.5', '127.0.0.5'])
      t.is(await from(`/asked?from=${address}`), address, 'a kept one is not for another source');
  t.is(await from('/asked'), '127.0.0.1', 'empty: the system chooses');
  t.is(await from('/asked?from=nonsense'), '127.0.0.1');
  await srv.waitForLog(/\[error\].* invalid local address "nonsense", client/);
  t.is((await get(srv.port('web'), '/asked?from=192.0.2.1')).status, 500);
  await srv.waitForLog(/\[crit\].* bind\(192\.0\.2\.1\) failed \(99: Cannot assign requested address\) while connecting to upstream/);
  t.is(await from('/asked?from=127.0.0.6'), '127.0.0.6', 'it was no failure of the member');
});

for (const [line, message] of [
  ['proxy_bind nonsense;', /invalid address "nonsense"/],
  ['proxy_bind $remote_addr transparent;', /"transparent" is not supported[^]*IP_TRANSPARENT/],
  ['proxy_bind 127.0.0.1 other;', /invalid parameter "other"|other/],
] as const)
  test(`rejected: ${line}`, async (t) => {
    const { stderr } = await check(
      t,
      `events {} http { server { listen 127.0.0.1:1; location / { ${line} proxy_pass http://127.0.0.1:1; } } }`,
    );
    t.regex(stderr, message);
  });
