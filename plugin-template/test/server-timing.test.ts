/**
 * Tests of the module: black-box ones with a real srv, which stay as they are when the module does its work in another way, and one of a
 * handler alone. Both tools are explained in srv's `docs/modules.md`, "Test".
 */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fakeRequest } from 'srv/testing/request.js';
import { fakeScope } from 'srv/testing/scope.js';
import { checkConf, startSrv, type Site, type TestServer } from 'srv/testing/server.js';
import { ServerTiming } from '../modules/acme_http_server_timing_module.mjs';

const modules = [resolve(import.meta.dirname, '../modules/acme_http_server_timing_module.mjs')];

/** A server with the module, which ends with the test. */
async function start(t: TestContext, site: Site): Promise<TestServer> {
  const srv = await startSrv({ modules, ...site });
  t.after(() => srv.stop());
  return srv;
}

await test('adds Server-Timing where it is on, and only there', async (t) => {
  const srv = await start(t, { server: 'server_timing on; location / { return 200; } location /off { server_timing off; return 200; }' });
  assert.match((await srv.get('/')).headers['server-timing'] as string, /^total;dur=\d+$/);
  assert.equal((await srv.get('/off')).headers['server-timing'], undefined);
});

await test('is off by default, and on after a reload', async (t) => {
  const srv = await start(t, { server: 'location / { return 200; }' });
  assert.equal((await srv.get('/')).headers['server-timing'], undefined);
  await srv.reload({ modules, server: 'server_timing on; location / { return 200; }' });
  assert.match((await srv.get('/')).headers['server-timing'] as string, /^total;dur=\d+$/);
});

await test('shows the time of the upstream', async (t) => {
  const backend = 'server { listen 127.0.0.1:%%PORT_backend%%; location / { return 200; } }';
  const srv = await start(t, { http: backend, server: 'server_timing on; location / { proxy_pass http://127.0.0.1:%%PORT_backend%%; }' });
  assert.match((await srv.get('/')).headers['server-timing'] as string, /^total;dur=\d+, upstream;dur=\d+$/);
});

await test('rejects a value that it does not know', async () => {
  const { ok, output } = await checkConf({ modules, server: 'server_timing maybe;' });
  assert.equal(ok, false);
  assert.match(output, /invalid value "maybe" in "server_timing" directive, it must be "on" or "off"/);
});

await test('takes the last of several upstream times', () => {
  const handlers = new ServerTiming().compile(fakeScope(ServerTiming, { server_timing: true }));
  const request = fakeRequest({ variables: { upstream_header_time: '-, 0.009' } });
  handlers?.header?.(request);
  assert.match(request.response.get('Server-Timing') ?? '', /upstream;dur=9$/);
});
