import { connect } from 'node:net';
import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Content in pieces, in each way the contract has. */
const MODULE = plugin('test_stream_module', {
  imports: `import { Readable } from 'node:stream'; import { appendFileSync } from 'node:fs';
import { DONE } from 'srv/module/http.js'; import { ServerInfo } from 'srv/module/server-info.js';`,
  manifest: `directives: { stream: directive({ in: ['location'], args: text(), inherit: 'none' }) }`,
  body: `
  static services = [ServerInfo];
  constructor(info) { this.note = (text) => appendFileSync(info.path('logs/notes'), text + '\\n'); }
  compile(scope) {
    if (!scope.own('stream')) return undefined;
    const header = scope.conf.stream === 'headless' ? () => { throw new Error('no head'); } : undefined;
    return { content: (request) => this[scope.conf.stream](request), ...(header && { header }) };
  }
  pieces(request) {
    const body = request.respond(200, 'text/plain');
    body.write('one ');
    setTimeout(() => { body.write(Buffer.from('two ')); body.end(); body.write('never'); }, 20);
    return DONE;
  }
  known(request) { const body = request.respond(200, 'text/plain', 5); body.write('12345'); body.end(); return DONE; }
  readable(request) { return request.respond(200, 'text/plain').pipe(Readable.from(['a', 'b', 'c'])); }
  breaks(request) {
    async function* pieces() { yield 'begun'; throw new Error('source broke'); }
    return request.respond(200).pipe(pieces());
  }
  events(request) {
    const note = this.note;
    async function* events() {
      try { for (let i = 0; ; i++) { yield 'data: ' + i + '\\n\\n'; await new Promise((resolve) => setTimeout(resolve, 20)); } }
      finally { note('events ended'); }
    }
    return request.respond(200, 'text/event-stream').pipe(events());
  }
  headless(request) {
    const opened = { next: () => new Promise(() => {}), return: async () => { this.note('headless ended'); return { done: true }; } };
    return request.respond(200).pipe({ [Symbol.asyncIterator]: () => opened });
  }
  flood(request) {
    const { note } = this;
    let made = 0;
    async function* blocks() { for (; made < 400; made++) yield Buffer.alloc(65536, 120); }
    const timer = setInterval(() => note('made ' + made), 50);
    const body = request.respond(200);
    body.onClose(() => note('closed'));
    const result = body.pipe(blocks());
    setTimeout(() => clearInterval(timer), 1500);
    return result;
  }
  twice(request) { request.respond(200).end(); request.respond(200); return DONE; }
`,
});

const site = shared((scope) => {
  const places = ['pieces', 'known', 'readable', 'breaks', 'events', 'flood', 'twice', 'headless'];
  return startSrv(
    scope,
    `load_module modules/test_stream_module.so; error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; ${places.map((name) => `location /${name} { stream ${name}; }`).join('\n')} } }`,
    { files: { 'modules/test_stream_module.js': MODULE } },
  );
});

test('a module sends its response in pieces', async (t) => {
  const srv = await site();
  const port = srv.port('web');
  const pieces = await exchange(t, port, 'GET /pieces HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex(pieces, /Transfer-Encoding: chunked\r\n/);
  t.regex(pieces, /\r\n\r\n4\r\none \r\n4\r\ntwo \r\n0\r\n\r\n$/);
  const known = await get(port, '/known');
  t.is(known.headers['content-length'], '5');
  t.is(known.body, '12345');
  t.is((await get(port, '/readable')).body, 'abc');
  t.is((await get(port, '/twice')).status, 200);
  await srv.waitForLog(/a handler of "test_stream_module" failed: Error: the response was started already/);
});

test('a source that throws cuts the response off', async (t) => {
  const srv = await site();
  const received = await exchange(t, srv.port('web'), 'GET /breaks HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex(received, /begun/);
  t.notRegex(received, /\r\n0\r\n\r\n$/);
  await srv.waitForLog(/a handler of "test_stream_module" failed: Error: source broke/);
});

test('a source ends with its client', async (t) => {
  const srv = await site();
  const socket = connect(srv.port('web'), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString()));
  socket.write('GET /events HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('three events', () => received.includes('data: 2'));
  socket.destroy();
  await waitFor('the end of the source', () => srv.read('logs/notes').includes('events ended'));
  t.regex(received, /Content-Type: text\/event-stream/);
});

test('a source ends when the head of its response fails', async (t) => {
  const srv = await site();
  t.is((await get(srv.port('web'), '/headless')).status, 500);
  await waitFor('the end of the source', () => srv.read('logs/notes').includes('headless ended'));
});

test('a source waits for a slow client', async (t) => {
  const srv = await site();
  const socket = connect(srv.port('web'), '127.0.0.1').pause();
  socket.write('GET /flood HTTP/1.1\r\nHost: a\r\n\r\n');
  const made = (): number[] => [...srv.read('logs/notes').matchAll(/made (\d+)/g)].map(([, count]) => Number(count));
  await waitFor('the source to stand still', () => made().length > 3 && made().at(-1) === made().at(-3));
  t.true((made().at(-1) ?? 400) < 390, 'not all of it is in memory');
  socket.destroy();
  await waitFor('the module to know', () => srv.read('logs/notes').includes('closed'));
});
