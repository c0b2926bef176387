/** request.streamBody(): the request body in pieces. */
import { createHash, randomBytes } from 'node:crypto';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedScope, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const MODULE = plugin('acme', {
  manifest: `directives: { does: directive({ in: ['location'], args: text() }) }`,
  imports: `import { createHash } from 'node:crypto'; import { DECLINED } from 'srv/module/http.js';`,
  body: `
    constructor() {
      const gate = new Promise((done) => { this.open = done; });
      const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
      this.handlers = {
        hash: { content: async (request) => {
          const hash = createHash('sha256');
          for await (const piece of request.streamBody(20_000_000)) { hash.update(piece); await null; }
          return request.send(200, hash.digest('hex'));
        } },
        waits: { content: async (request) => {
          let bytes = 0;
          for await (const piece of request.streamBody(40_000_000)) { bytes += piece.length; await gate; }
          return request.send(200, String(bytes));
        } },
        open: { content: (request) => { this.open(); return request.send(200, 'open'); } },
        first: { content: async (request) => { for await (const piece of request.streamBody(20_000_000)) return request.send(200, piece); } },
        small: { content: async (request) => { for await (const piece of request.streamBody(10)) await sleep(1); return request.send(200, 'small'); } },
        aside: { precontent: async (request) => { for await (const piece of request.streamBody(100)); return DECLINED; } },
      };
    }
    compile(scope) { return this.handlers[scope.conf.does]; }`,
});

function start(t: Scope, backend: number): Promise<Srv> {
  const places = ['hash', 'waits', 'open', 'first', 'small'].map((name) => `location /${name} { does ${name}; client_max_body_size 0; }`);
  return startSrv(
    t,
    `load_module modules/acme.mjs; error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; ${places.join('\n')}
      location /aside { does aside; proxy_pass http://127.0.0.1:${backend}; } } }`,
    { files: { 'modules/acme.mjs': MODULE } },
  );
}

const shared = sharedScope(async (scope) => start(scope, (await httpBackend(scope, (_, response) => response.end('member'))).port));

test('every byte comes, in order, however long the body is and however it is framed', async (t) => {
  const srv = await shared();
  for (const length of [0, 1, 5_000_000]) {
    const body = randomBytes(length);
    const expected = createHash('sha256').update(body).digest('hex');
    for (const headers of [{ 'content-length': length }, { 'transfer-encoding': 'chunked' }]) {
      t.is((await get(srv.port('web'), '/hash', { method: 'POST', body, headers })).body, expected, `${length} ${JSON.stringify(headers)}`);
    }
  }
  t.is((await get(srv.port('web'), '/hash')).body, createHash('sha256').digest('hex'), 'without a body');
});

test('the client sends no faster than the handler consumes', async (t) => {
  const srv = await shared();
  const client = await connectRaw(t, srv.port('web'));
  const piece = Buffer.alloc(65_536);
  const pieces = 500;
  client.send(`POST /waits HTTP/1.1\r\nHost: a\r\nContent-Length: ${pieces * piece.length}\r\nConnection: close\r\n\r\n`);
  let sent = 0;
  for (let at = 0; at < pieces; at++) client.socket.write(piece, () => sent++);
  await waitFor('a halt', async () => {
    const before = sent;
    await new Promise((done) => setTimeout(done, 300));
    return before > 0 && before === sent;
  });
  t.true(sent < pieces, 'the handler holds the client back');
  await get(srv.port('web'), '/open');
  t.regex(await client.receiveAll(), new RegExp(`\r\n\r\n${pieces * piece.length}$`));
});

test('a body that is too long is a 413, with a length or without', async (t) => {
  const srv = await shared();
  const from = srv.log().length;
  for (const headers of [{ 'content-length': 11 }, { 'transfer-encoding': 'chunked' }]) {
    t.is((await get(srv.port('web'), '/small', { method: 'POST', body: 'x'.repeat(11), headers })).status, 413);
    t.is((await get(srv.port('web'), '/small', { method: 'POST', body: 'x'.repeat(10) })).body, 'small');
  }
  t.notRegex(srv.log().slice(from), /a handler of "acme" failed/);
});

const FIRST = 'POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst';

test('a handler that stops in the middle leaves the connection usable', async (t) => {
  const srv = await shared();
  const received = await exchange(t, srv.port('web'), FIRST + FIRST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  t.is(received.match(/\r\n\r\nfirst/g)?.length, 2);
});

test('a client that leaves ends the handler', async (t) => {
  const srv = await shared();
  const from = srv.log().length;
  const client = await connectRaw(t, srv.port('web'));
  client.send('POST /hash HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nsome');
  await get(srv.port('web'), '/hash');
  client.socket.destroy();
  await waitFor('its line', () => srv.log().includes('client prematurely closed connection', from));
  t.notRegex(srv.log().slice(from), /failed/);
});

test('nobody else gets a body that was streamed', async (t) => {
  const srv = await shared();
  t.is((await get(srv.port('web'), '/aside')).body, 'member');
  t.is((await get(srv.port('web'), '/aside', { method: 'POST', body: 'body' })).status, 500);
  await srv.waitForLog(/request body is no longer available/);
});
