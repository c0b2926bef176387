import { connect } from 'node:net';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedScope, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Filters of each kind: at once, later, holding all back, with a length; each notes when it is destroyed. */
const MODULE = plugin('test_filter_module', {
  imports: `import { appendFileSync } from 'node:fs'; import { ServerInfo } from 'srv/module/server-info.js'; import { rest } from 'srv/module/args.js';`,
  manifest: `directives: { filter: directive({ in: ['location'], args: { kinds: rest(text()) }, inherit: 'none' }) }`,
  body: `
  static services = [ServerInfo];
  constructor(info) { this.note = (text) => appendFileSync(info.path('logs/notes'), text + '\\n'); }
  compile(scope) {
    if (!scope.own('filter')) return undefined;
    const [kind] = scope.conf.filter.kinds;
    return { header: (request) => this[kind](request) };
  }
  upper() {
    const upper = (piece) => Buffer.from(piece.toString('latin1').toUpperCase(), 'latin1');
    return { write: (piece, out) => { out.write(upper(piece)); }, end: (out) => out.end() };
  }
  seen(request) {
    const seen = request.response.get('Content-Type') + ' ' + request.response.get('Content-Length');
    return { write() {}, end: (out) => { out.write(Buffer.from(seen)); out.end(); } };
  }
  length(request) { request.response.set('X-Saw', String(request.response.get('content-length'))); return { length: 3, write() {}, end: (out) => { out.write(Buffer.from('abc')); out.end(); } }; }
  ranges(request) { request.response.allowsRanges = true; return undefined; }
  later() {
    const pieces = [];
    return { write: (piece) => { pieces.push(piece); }, end: (out) => setTimeout(() => { out.write(Buffer.concat(pieces)); out.write(Buffer.from('!')); out.end(); out.write(Buffer.from('never')); }, 20) };
  }
  never() { return { write() {}, end() {}, destroy: () => this.note('destroyed') }; }
  silent() { return { write() {}, end() {} }; }
  paused() { return { write(piece, out) { out.pause(); }, end() {} }; }
  begun() { return { write(piece, out) { out.write(piece); }, end() {} }; }
  steps() {
    return { write() {}, end(out) { let left = 6; const step = () => { if (left-- === 0) out.end(); else { out.write(Buffer.from('x')); setTimeout(step, 150); } }; step(); } };
  }
  fails() { return { write(piece, out) { setTimeout(() => out.fail(new Error('filter failed later')), 10); }, end() {}, destroy: () => this.note('destroyed') }; }
  slow() {
    let held = 0;
    return { write: (piece, out) => { held++; out.pause(); this.note('held ' + held); setTimeout(() => { held--; out.write(piece); if (held === 0) out.resume(); if (this.ended && held === 0) out.end(); }, 5); }, end: (out) => { if (held === 0) out.end(); else this.ended = true; } };
  }
`,
});

function start(t: Scope, port: number, timeout = '60s'): Promise<Srv> {
  const kinds = ['upper', 'silent', 'paused', 'begun', 'steps', 'seen', 'length', 'ranges', 'later', 'never', 'fails', 'slow'];
  return startSrv(
    t,
    `load_module modules/test_filter_module.so; error_log logs/error.log info; events {}
    http { handler_timeout ${timeout}; server { listen 127.0.0.1:%%PORT_web%%;
      ${kinds.map((kind) => `location /${kind} { filter ${kind}; proxy_pass http://127.0.0.1:${port}; }`).join('\n')}
      location /own { filter upper; return 200 "own text"; }
      location /plain { proxy_pass http://127.0.0.1:${port}; }
    } }`,
    { files: { 'modules/test_filter_module.js': MODULE } },
  );
}

const LONG = 'x'.repeat(3_000_000);

/** A member that responds by the path, and a server before it. */
const shared = sharedScope(async (scope) => {
  const backend = await httpBackend(scope, ({ url = '' }, response) => {
    if (url.startsWith('/slow')) return void response.end(LONG);
    if (/^\/(never|fails)/.test(url)) return void response.end('text');
    response.setHeader('content-type', 'text/css');
    if (url === '/ranges') response.setHeader('accept-ranges', 'bytes');
    if (/^\/(seen|length|ranges)/.test(url)) return void response.setHeader('content-length', '4').end('text');
    const isEmpty = url.endsWith('empty');
    if (isEmpty) response.writeHead(200, { 'content-length': '0' });
    else response.write('some ');
    setTimeout(() => response.end(isEmpty ? '' : 'text'), 10);
  });
  return { backend, srv: await start(scope, backend.port) };
});

test('a filter changes bodies of members and of the server', async (t) => {
  const { srv } = await shared();
  const port = srv.port('web');
  t.is((await get(port, '/upper')).body, 'SOME TEXT');
  t.is((await get(port, '/own')).body, 'OWN TEXT');
  t.is((await get(port, '/later')).body, 'some text!');
  t.is((await get(port, '/later/empty')).body, '!', 'a response without a body has an end as well');
  const empty = await exchange(t, port, 'GET /upper/empty HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex(empty, /^HTTP\/1\.1 200 [^]*\r\n\r\n0\r\n\r\n$/);
  const head = await exchange(t, port, 'HEAD /later HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.notRegex(head, /Content-Length|!/);
});

test('header filters see the final type and length, and a filter may know its own', async (t) => {
  const { srv } = await shared();
  t.is((await get(srv.port('web'), '/seen')).body, 'text/css 4');
  const known = await get(srv.port('web'), '/length');
  t.is(known.headers['content-length'], '3');
  t.is(known.headers['x-saw'], '4');
  t.is(known.body, 'abc');
});

test('a header filter may allow ranges', async (t) => {
  const { srv } = await shared();
  const port = srv.port('web');
  const part = await get(port, '/ranges', { headers: { range: 'bytes=1-2' } });
  t.deepEqual([part.status, part.body, part.headers['content-range']], [206, 'ex', 'bytes 1-2/4']);
  const none = await get(port, '/ranges', { headers: { range: 'bytes=9-' } });
  t.deepEqual([none.status, none.headers['content-range']], [416, 'bytes */4']);
  t.is((await get(port, '/ranges')).headers['accept-ranges'], 'bytes', 'named once, also where the member says it');
});

test('a filter is destroyed with its client', async (t) => {
  const { backend, srv } = await shared();
  const socket = connect(srv.port('web'), '127.0.0.1');
  socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the request at its member', () => backend.requests.some(({ url }) => url === '/never'));
  setTimeout(() => socket.destroy(), 50);
  t.truthy(await waitFor('the end of the filter', () => srv.read('logs/notes').includes('destroyed')));
});

test('a filter that fails later, with nothing sent, costs a 500', async (t) => {
  const { srv } = await shared();
  const noted = srv.read('logs/notes').length;
  t.is((await get(srv.port('web'), '/fails')).status, 500);
  await srv.waitForLog(/a handler of "test_filter_module" failed: Error: filter failed later/);
  t.true(srv.read('logs/notes').includes('destroyed', noted));
});

test('a filter that pauses stops the member', async (t) => {
  const { srv } = await shared();
  t.is((await get(srv.port('web'), '/slow')).body.length, LONG.length);
  const held = [...srv.read('logs/notes').matchAll(/held (\d+)/g)].map(([, count]) => Number(count));
  t.true(Math.max(...held) < 10, 'the member waits while pieces are held');
});

test('a filter that neither ends the body nor goes on is given up after handler_timeout', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('text'));
  const srv = await start(t, backend.port, '500ms');
  const port = srv.port('web');
  t.is((await get(port, '/silent')).status, 500);
  await srv.waitForLog(/\[error\] .*a body filter of "test_filter_module" timed out .*"GET \/silent /);
  t.is((await get(port, '/paused')).status, 500);
  await t.throwsAsync(get(port, '/begun'), undefined, 'its response is cut off');
  t.is((await get(port, '/steps')).body, 'xxxxxx', 'one that goes on may take longer');
});
