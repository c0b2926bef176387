/**
 * Black-box tests: a real srv with the module loaded, in a folder of its own, asked by a client. Nothing here knows how the module works,
 * so nothing here has to change when it works in another way.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const SRV = resolve('node_modules/.bin/srv');
const MODULE = resolve(import.meta.dirname, '../modules/acme_http_server_timing_module.mjs');
const FOLDER = mkdtempSync(join(tmpdir(), 'srv-plugin-'));
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));

await test('adds Server-Timing where it is on, and only there', async (t) => {
  const socket = await startSrv(t, 'server_timing on; location / { return 200; } location /off { server_timing off; return 200; }');
  assert.match((await get(socket, '/')).headers['server-timing'] as string, /^total;dur=\d+$/);
  assert.equal((await get(socket, '/off')).headers['server-timing'], undefined);
});

await test('is off by default', async (t) => {
  const socket = await startSrv(t, 'location / { return 200; }');
  assert.equal((await get(socket, '/')).headers['server-timing'], undefined);
});

await test('shows the time of the upstream', async (t) => {
  const backend = await startBackend(t, 30);
  const socket = await startSrv(t, `server_timing on; location / { proxy_pass http://unix:${backend}:/; }`);
  const { headers } = await get(socket, '/');
  const [, total, upstream] = /^total;dur=(\d+), upstream;dur=(\d+)$/.exec(headers['server-timing'] as string) ?? [];
  assert.ok(Number(upstream) >= 25, `the upstream took ${upstream} ms`);
  assert.ok(Number(total) >= 25, `the request took ${total} ms`);
});

await test('a value that it does not know is refused', () => {
  const prefix = makePrefix('server_timing maybe; location / { return 200; }');
  const { status, stderr } = spawnSync(process.execPath, [SRV, '-p', prefix, '-t'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /invalid value "maybe" in "server_timing" directive, it must be "on" or "off"/);
});

/** A folder with a configuration that loads the module. It listens on a unix socket in there: no port can be taken by something else. */
function makePrefix(server: string): string {
  const prefix = mkdtempSync(join(FOLDER, 'prefix-'));
  mkdirSync(join(prefix, 'conf'));
  writeFileSync(
    join(prefix, 'conf/srv.conf'),
    `daemon off; load_module ${MODULE}; events { } http { server { listen unix:${prefix}/srv.sock; ${server} } }`,
  );
  return prefix;
}

/** Starts srv and resolves with the path of the socket that it listens on. It ends with the test. */
async function startSrv(t: TestContext, server: string): Promise<string> {
  const prefix = makePrefix(server);
  const srv = spawn(process.execPath, [SRV, '-p', prefix], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((done) => srv.once('exit', done));
  t.after(async () => {
    srv.kill('SIGTERM');
    await ended;
  });
  // The pid file appears when every listener is open.
  while (!existsSync(join(prefix, 'logs/srv.pid'))) {
    assert.equal(srv.exitCode, null, 'srv ended at once; what it says is above');
    await sleep(10);
  }
  return join(prefix, 'srv.sock');
}

/** A backend that takes `milliseconds` for each answer. Resolves with the path of its socket. */
async function startBackend(t: TestContext, milliseconds: number): Promise<string> {
  const socket = join(mkdtempSync(join(FOLDER, 'backend-')), 'backend.sock');
  const server = createServer((_, response) => setTimeout(() => response.end('hello'), milliseconds));
  await new Promise<void>((done) => server.listen(socket, done));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return socket;
}

function get(socketPath: string, path: string): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
    const sent = request({ socketPath, path, agent: false }, (answer) => {
      answer.resume();
      answer.once('end', () => done(answer));
    });
    sent.once('error', fail);
    sent.end();
  });
}
