/** `srv/testing`: what authors of modules test with. */
import { existsSync } from 'node:fs';
import test from 'ava';
import { number, text } from '../../core/contract/args.js';
import { DONE, OK, type BodyOutput, type HttpRequest, type Scope } from '../../core/contract/http.js';
import { directive } from '../../core/contract/spec.js';
import { FakeNotes } from '../../testing/explain.js';
import { fakeRequest } from '../../testing/request.js';
import { fakeScope } from '../../testing/scope.js';
import { runBodyFilter } from '../../testing/body-filter.js';
import { openDatagrams, startUdpMember } from '../../testing/datagrams.js';
import { startTcpMember } from '../../testing/tcp-member.js';
import { startMember } from '../../testing/member.js';
import { checkConf, startSrv, type Site } from '../../testing/server.js';
import { plugin } from '../harness/plugins.js';

const directives = {
  times: directive({ in: ['location'], args: number(), default: '1' }),
  greet: directive({ in: ['location'], args: text() }),
};

/** A module's own types fit those of a fake scope. */
const compileTimes = ({ conf }: Scope<typeof directives>): number => conf.times;

const KV: Site = {
  modules: [],
  main: 'env SRV_TEST;',
  server: 'location / { return 200 "$kv_http_shade"; } location /other { proxy_pass http://127.0.0.1:%%PORT_other%%; }',
  http: 'server { listen 127.0.0.1:%%PORT_other%%; location / { return 200 other; } }',
  control: { modules: ['modules/srv_http_sendmsg_module.js'] },
};

// Listeners of the process are counted: no other test runs meanwhile.
test.serial('traffic and control plane are there when it has started, and gone when it has stopped', async (t) => {
  const srv = await startSrv(KV);
  t.teardown(() => srv.stop());
  t.like(await srv.api('POST', '/v1/kv', { key: 'shade', value: 'green' }), { status: 200 });
  t.is((await srv.api('GET', '/v1/kv?key=shade')).body, 'green');
  t.like((await srv.api('GET', '/v1/kv?key=none')).json, { error: { code: 'KeyNotFound' } });
  t.is((await srv.get('/')).body, 'green');
  t.is((await srv.get('/other')).body, 'other');
  t.is((await srv.get('/', { port: 'other' })).body, 'other');
  const listeners = process.listenerCount('exit');
  await srv.stop();
  t.false(existsSync(srv.prefix));
  t.is(process.listenerCount('exit'), listeners - 1, 'it leaves nothing in the process of the tests');
  await t.throwsAsync(srv.get('/'));
});

test('modules of stream are tested over TCP and UDP', async (t) => {
  await using echo = await startTcpMember();
  await using greeter = await startTcpMember(async (client) => {
    client.send('220 ready\r\n');
    await client.receive(/^QUIT/);
    client.end('221 bye');
  });
  await using failing = await startTcpMember(() => Promise.reject(new Error('no')));
  await using shouting = await startUdpMember((text) => (text === 'quiet' ? undefined : text.toUpperCase()));
  await using client = await openDatagrams();
  await using srv = await startSrv({
    stream: `
      server { listen 127.0.0.1:%%PORT_echo%%; proxy_half_close on; proxy_pass ${echo.address}; }
      server { listen 127.0.0.1:%%PORT_mail%%; proxy_pass ${greeter.address}; }
      server { listen 127.0.0.1:%%PORT_failing%%; proxy_pass ${failing.address}; }
      server { listen 127.0.0.1:%%PORT_loud%% udp; proxy_pass ${shouting.address}; }`,
  });
  const echoed = await srv.connect('echo');
  echoed.send('one ');
  await echoed.receive(/one $/);
  echoed.end('two');
  t.is(await echoed.receiveAll(), 'one two');
  const mail = await srv.connect('mail');
  await mail.receive(/^220/);
  await t.throwsAsync(
    srv.connect('mail').then((other) => (other.end(), other.receive(/^221/))),
    { message: /ended without/ },
  );
  mail.send('QUIT\r\n');
  t.is(await mail.receiveAll(), '220 ready\r\n221 bye');
  t.is(greeter.connections[0]?.received, 'QUIT\r\n');
  t.is(await (await srv.connect('failing')).receiveAll(), '');
  client.send(srv.port('loud'), 'quiet');
  client.send(srv.port('loud'), 'hello');
  t.is(await client.receive(/HELL/), 'HELLO');
  t.deepEqual(shouting.received, ['quiet', 'hello']);
});

test('it has several workers', async (t) => {
  const body = `
    static services = [ServerInfo];
    constructor(info) { this.info = info; }
    compile() { return { content: (request) => request.send(200, String(this.info.worker)) }; }`;
  const imports = `import { ServerInfo } from 'srv/module/server-info.js';`;
  await using srv = await startSrv({
    modules: ['%%PREFIX%%/acme.mjs'],
    files: { 'acme.mjs': plugin('acme', { body, imports }) },
    server: 'location / { }',
  });
  const workers = new Set<string>();
  for (let asked = 0; asked < 200 && workers.size < 2; asked++) workers.add((await srv.get('/')).body);
  t.deepEqual([...workers].sort(), ['0', '1']);
});

test('a reload is over when it is active, and says why it is rejected', async (t) => {
  await using srv = await startSrv({ server: 'return 200 one;' });
  await srv.reload({ server: 'return 200 two;' });
  t.is((await srv.get('/')).body, 'two');
  await t.throwsAsync(srv.reload({ server: 'retrun 200 three;' }), { message: /unknown directive "retrun"/ });
  t.is((await srv.get('/')).body, 'two');
});

test('a configuration that cannot start is told, and one that cannot be right too', async (t) => {
  await t.throwsAsync(startSrv({ server: 'retrun 200;' }), { message: /unknown directive "retrun"/ });
  t.like(await checkConf({ server: 'return 200;' }), { ok: true });
  t.like(await checkConf({ server: 'retrun 200;' }), { ok: false });
});

test('what went uncaught fails the stop', async (t) => {
  // A worker that fails before it serves would fail the start.
  const body = `compile() {
    return { content: (request) => { setTimeout(() => { throw new Error('forgotten'); }, 1); return request.send(200, ''); } };
  }`;
  const site = { modules: ['%%PREFIX%%/acme.mjs'], files: { 'acme.mjs': plugin('acme', { body }) }, server: 'location / { }', workers: 1 };
  const srv = await startSrv(site);
  await srv.get('/');
  await srv.waitForLog(/forgotten/);
  await t.throwsAsync(srv.stop(), { message: /the server logged:\n.*uncaught.*forgotten/ });
  const expected = await startSrv(site);
  await expected.get('/');
  await expected.waitForLog(/forgotten/);
  await t.notThrowsAsync(expected.stop({ expectCrash: true }));
});

test('a client may stay, and the server may be told to end', async (t) => {
  const body = `
    static services = [ServerInfo];
    constructor(info) { this.info = info; }
    compile() {
      return { content: (request) => {
        const body = request.respond(200, 'text/plain');
        if (request.uri === '/cut') { body.write('begun'); setTimeout(() => body.abort(), 20); return -2; }
        body.write('one ');
        this.info.leaving.addEventListener('abort', () => { body.write('last'); body.end(); });
        return -2;
      } };
    }`;
  const imports = `import { ServerInfo } from 'srv/module/server-info.js';`;
  await using srv = await startSrv({
    modules: ['%%PREFIX%%/acme.mjs'],
    files: { 'acme.mjs': plugin('acme', { body, imports }) },
    server: 'location / { } location /bytes { return 200 "\u00fc"; }',
  });
  t.deepEqual([...(await srv.get('/bytes')).bytes], [0xc3, 0xbc]);
  const cut = await srv.open('/cut');
  t.is(await cut.end(), 'cut off');
  await t.throwsAsync(cut.receive(/never/), { message: /ended without/ });
  const stream = await srv.open('/');
  await stream.receive(/one/);
  t.like(stream, { status: 200, ended: 'no' });
  t.true(srv.pid > 0);
  await srv.quit();
  t.is(await stream.end(), 'complete');
  t.is(stream.text, 'one last');
});

test('a fake request notes what is done with it', async (t) => {
  const request = fakeRequest({
    method: 'POST',
    uri: '/a b',
    args: 'x=1',
    headers: { 'X-One': '1' },
    body: 'body',
    variables: { shade: 'green' },
  });
  t.like(request, { method: 'POST', uri: '/a b', args: 'x=1', protocol: 'HTTP/1.1', status: OK + 200 });
  t.is(request.header('x-one'), '1');
  t.is(request.variable('shade'), 'green');
  t.is((await request.readBody(4)).toString(), 'body');
  await t.throwsAsync(request.readBody(3), { message: /longer than 3 bytes/ });
  request.response.append('A', '1');
  request.response.append('a', '2');
  t.is(request.response.get('a'), '1');
  request.send(404, 'gone', 'text/plain');
  t.deepEqual(request.sent, { status: 404, body: 'gone', contentType: 'text/plain' });
  t.throws(() => fakeScope({}).fail('wrong'), { message: 'wrong' });
  t.is(compileTimes(fakeScope({ times: 5, greet: 'you' })), 5);
});

test('a fake request keeps the contract', async (t) => {
  const request = fakeRequest({ method: 'POST', body: 'four' });
  t.like(await t.throwsAsync(request.readBody(3)), { status: 413, code: 'BodyTooLarge' });
  t.throws(() => request.response.set('X Y', 'a'), { instanceOf: TypeError });
  t.throws(() => request.upstream.set('X-Y', '\u{1f600}'), { instanceOf: TypeError });
  const body = request.respond(200, 'text/plain', 3);
  t.throws(() => request.send(200, ''), { message: 'the response was started already' });
  body.write(new Uint8Array([104, 105]));
  t.throws(() => body.end(), { instanceOf: RangeError });
  t.is(body.text, 'hi');
  let closed = 0;
  body.onClose(() => closed++);
  request.abort();
  body.onClose(() => closed++);
  t.is(closed, 2, 'its body is closed with its client');
});

test('a fake client may be slow, and subrequests have bodies', async (t) => {
  const request = fakeRequest({ subrequests: { '/user': { status: 200, body: 'ada' } } });
  const { status, body } = await request.subrequest('/user');
  t.deepEqual([status, body.toString()], [200, 'ada']);
  const stream = request.respond(200);
  stream.slow = true;
  t.false(stream.write('x'));
  let hasDrained = false;
  const drained = stream.drained().then(() => (hasDrained = true));
  await new Promise(setImmediate);
  t.false(hasDrained);
  stream.drain();
  t.true(await drained);
  t.true(stream.write('y'));
});

test('a body filter runs without a server', async (t) => {
  const upper = { write: (piece: Buffer, out: BodyOutput) => void out.write(Buffer.from(piece.toString().toUpperCase())) };
  t.is((await runBodyFilter({ ...upper, end: (out) => setImmediate(() => out.end()) }, ['a', 'b'])).toString(), 'AB');
  await t.throwsAsync(runBodyFilter({ ...upper, length: 3, end: (out) => out.end() }, ['a']), { instanceOf: RangeError });
  await t.throwsAsync(runBodyFilter({ ...upper, end: (out) => out.fail(new Error('broken')) }, []), { message: 'broken' });
});

test('notes keep what a module says of a request', (t) => {
  const notes = new FakeNotes();
  const explain = (request: HttpRequest): number => {
    notes.say('looks at the path', { path: request.uri });
    notes.assume('it exists');
    return notes.end('a page', 200);
  };
  t.is(explain(fakeRequest({ uri: '/x' })), DONE);
  t.deepEqual(notes.said, [{ text: 'looks at the path', facts: { path: '/x' } }]);
  t.deepEqual(notes.assumed, ['it exists']);
  t.deepEqual(notes.ended, { text: 'a page', status: 200 });
});

test('a member responds as the test says, and keeps the requests', async (t) => {
  await using member = await startMember({
    '/status': { status: 418, headers: { 'x-kind': 'tea' }, body: 'no coffee' },
    '/pieces': { body: ['one ', Buffer.from('two')] },
    '/cut': { body: ['half'], cutOff: true },
    '/raw': { raw: 'HTTP/1.1 200 OK\r\nX-Bytes: \xe9\r\nContent-Length: 3\r\n\r\nraw' },
    '/invalid': { raw: 'no response' },
    '/echo': ({ body }) => ({ body, delay: 1 }),
    '/fails': () => Promise.reject(new Error('the script fails')),
  });
  await using srv = await startSrv({ workers: 1, server: `location / { proxy_pass http://${member.address}; proxy_next_upstream off; }` });
  t.like(await srv.get('/status'), { status: 418, headers: { 'x-kind': 'tea', 'content-length': '9' }, body: 'no coffee' });
  t.like(await srv.get('/pieces'), { body: 'one two', headers: { 'transfer-encoding': 'chunked' } });
  await t.throwsAsync(srv.get('/cut'));
  t.like(await srv.get('/raw'), { body: 'raw', headers: { 'x-bytes': '\xe9' } });
  t.deepEqual([(await srv.get('/invalid')).status, (await srv.get('/fails')).status], [502, 502]);
  t.is((await srv.get('/echo', { method: 'POST', body: 'said' })).body, 'said');
  t.like(await srv.get('/other?a=b'), { status: 200, body: '' });
  t.deepEqual(
    member.requests.slice(-2).map(({ method, url, body }) => [method, url, body.toString()]),
    [
      ['POST', '/echo', 'said'],
      ['GET', '/other?a=b', ''],
    ],
  );
  await member.refuse();
  t.is((await srv.get('/status')).status, 502);
  await member.accept();
  member.reply('*', { body: 'again' });
  t.is((await srv.get('/other')).body, 'again');
  t.true(member.connections > 1);
});
