/** Handlers that wait: their request ends with them, with its client, or with handler_timeout, and never hangs. */
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const MODULE = plugin('acme', {
  manifest: `directives: { does: directive({ in: ['server', 'location'], args: text(), inherit: 'none' }) }`,
  imports: `import { DONE, OK, DECLINED } from 'srv/module/http.js'; import { Exchanges } from 'srv/module/exchanges.js'; import { Log } from 'srv/module/log.js';`,
  body: `
    static services = [Log];
    constructor(log) {
      const never = () => new Promise(() => {});
      const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
      const untilAborted = (request) => new Promise((_, fail) => request.signal.addEventListener('abort', () => {
        log.write('notice', 'aborted ' + request.uri);
        fail(new Error('aborted'));
      }));
      this.handlers = {
        done: { content: () => DONE },
        ok: { content: () => OK },
        never: { content: never },
        never_access: { access: never },
        aborted: { content: untilAborted },
        late: { content: async (request) => { await sleep(1500); throw new Error('too late'); } },
        slow: { content: async (request) => { await sleep(50); return request.send(200, 'slow'); } },
        later: { content: (request) => { setTimeout(() => request.send(200, 'later'), 50); return DONE; } },
        sub: { content: async (request) => { await request.subrequest('/aborted'); return request.send(200, 'sub'); } },
        reads: { content: async (request) => request.send(200, String((await request.readBody(1000)).length)) },
        moves: { precontent: async (request) => { await sleep(1); request.redirect('/never-there'); return DONE; } },
        aside: { preaccess: async (request) => { await sleep(1); return DECLINED; } },
      };
    }
    compile(scope) { return scope.own('does') ? this.handlers[scope.conf.does] : undefined; }
    compileServer(scope) { return scope.own('does') ? { server_rewrite: () => new Promise(() => {}) } : undefined; }`,
});

const NAMES = ['done', 'ok', 'never', 'never_access', 'aborted', 'late', 'slow', 'later', 'reads', 'moves', 'sub'];

function start(t: Scope, timeout: string, backend = 1): Promise<Srv> {
  return startSrv(
    t,
    `load_module modules/acme.mjs; error_log logs/error.log info; events {}
    http {
      log_format short '$request_uri $status';
      access_log logs/access.log short;
      ${timeout}
      server {
        listen 127.0.0.1:%%PORT_web%%;
        ${NAMES.map((name) => `location /${name} { does ${name}; }`).join('\n')}
        location /page { does late; error_page 504 = /slow; }
        location /aside { does aside; proxy_pass http://127.0.0.1:${backend}; }
        location /never-there { does never; }
      }
      server { listen 127.0.0.1:%%PORT_web%%; server_name early; does never; location / { return 200; } }
    }`,
    { files: { 'modules/acme.mjs': MODULE } },
  );
}

/** Servers for tests that only send requests. */
const patient = shared((scope) => start(scope, ''));
const hasty = shared((scope) => start(scope, 'handler_timeout 300ms;'));

test('a handler that takes its time responds, also when it said DONE before', async (t) => {
  const backend = await httpBackend(t, (_, response) => setTimeout(() => response.end('member'), 2500));
  const srv = await start(t, 'handler_timeout 2s;', backend.port);
  t.is((await get(srv.port('web'), '/slow')).body, 'slow');
  t.is((await get(srv.port('web'), '/later')).body, 'later');
  t.is((await get(srv.port('web'), '/aside')).body, 'member', 'a member has time limits of its own');
  t.notRegex(srv.log(), /timed out/);
});

for (const path of ['/done', '/ok', '/never', '/never_access', '/aborted', '/moves']) {
  test(`a request that nobody responds to is a 504 after handler_timeout: ${path}`, async (t) => {
    const srv = await hasty();
    t.is((await get(srv.port('web'), path)).status, 504);
    await srv.waitForLog(
      new RegExp(`\\[error\\] .*a handler of "acme" timed out \\(110: Connection timed out\\), client: .*"GET ${path} `),
    );
    await srv.waitForLog(new RegExp(`^${path} 504$`, 'm'), 'logs/access.log');
    if (path === '/aborted') await srv.waitForLog(/acme: aborted \/aborted/);
  });
}

test('a handler of a server is limited too', async (t) => {
  const srv = await hasty();
  t.is((await get(srv.port('web'), '/', { headers: { host: 'early' } })).status, 504);
});

test('what a handler does after its time has no effect, on an error page either', async (t) => {
  const srv = await start(t, 'handler_timeout 1s;');
  t.is((await get(srv.port('web'), '/page')).body, 'slow');
  t.is((await get(srv.port('web'), '/late')).status, 504);
  t.is((await get(srv.port('web'), '/slow')).body, 'slow');
  t.notRegex(srv.log(), /too late/);
});

for (const path of ['/done', '/never', '/aborted', '/sub']) {
  test(`a request ends with its client, and is logged as 499: ${path}`, async (t) => {
    const srv = await patient();
    const before = srv.log().length;
    const client = await connectRaw(t, srv.port('web'));
    client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await get(srv.port('web'), '/slow');
    client.socket.destroy();
    const left = new RegExp(
      `\\[info\\] .*client prematurely closed connection while waiting for a handler of "acme", client: .*"GET ${path} `,
    );
    await srv.waitForLog(left);
    await srv.waitForLog(new RegExp(`^${path} 499$`, 'm'), 'logs/access.log');
    if (path === '/aborted' || path === '/sub') await waitFor('the signal', () => srv.log().includes('acme: aborted /aborted', before));
    t.pass();
  });
}

test('QUIT waits for a handler no longer than handler_timeout', async (t) => {
  const srv = await start(t, 'handler_timeout 500ms;');
  const client = await connectRaw(t, srv.port('web'));
  client.send('GET /done HTTP/1.1\r\nHost: a\r\n\r\n');
  await get(srv.port('web'), '/slow');
  t.is((await srv.stop('SIGQUIT')).code, 0);
  t.regex(client.received, /^HTTP\/1\.1 504 /);
});

test('a slow upload is not the handler’s fault', async (t) => {
  const srv = await start(t, 'handler_timeout 2s;');
  const client = await connectRaw(t, srv.port('web'));
  client.send('POST /reads HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\nConnection: close\r\n\r\n');
  for (let sent = 0; sent < 8; sent++) {
    await sleep(300);
    client.send('x');
  }
  t.regex(await client.receiveAll(), /^HTTP\/1\.1 200 [^]*\r\n\r\n8$/);
});

test('a body that is too long for its handler is a 413', async (t) => {
  const srv = await patient();
  t.is((await get(srv.port('web'), '/reads', { method: 'POST', body: 'x'.repeat(1000) })).body, '1000');
  t.is((await get(srv.port('web'), '/reads', { method: 'POST', body: 'x'.repeat(1001) })).status, 413);
  await srv.waitForLog(/\[error\] .*client intended to send too large body: the request body is longer than 1000 bytes/);
  t.notRegex(srv.log(), /a handler of "acme" failed/);
});
