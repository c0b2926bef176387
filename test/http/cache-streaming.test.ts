/** `proxy_cache_lock_streaming`: requests that wait for a response get it while it arrives. */
import type { ServerResponse } from 'node:http';
import http2 from 'node:http2';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** The worker that has got `?victim` dies with `?die`. */
const DYING = plugin('dying', {
  imports: `import { DECLINED } from 'srv/module/http.js';`,
  manifest: `directives: { dying: directive({ in: ['location'] }) }`,
  body: `compile(scope) { return scope.conf.dying && { preaccess: (request) => {
    if (request.args === 'victim') this.isVictim = true;
    if (request.args !== 'die') return DECLINED;
    return this.isVictim ? process.exit(3) : 204;
  } }; }`,
});

interface Setup {
  readonly srv: Srv;
  /** Responses that the member has begun or not, by path. */
  readonly at: (path: string) => ServerResponse[];
  /** Waits until the member has been asked so often for a path. */
  readonly asked: (path: string, count?: number) => Promise<ServerResponse>;
}

const start = shared(async (scope): Promise<Setup> => {
  const open = new Map<string, ServerResponse[]>();
  const at = (path: string): ServerResponse[] => open.get(path) ?? [];
  const backend = await httpBackend(scope, ({ url = '' }, response) => {
    const path = url.split('?', 1)[0] ?? '';
    open.set(path, [...at(path), response]);
  });
  const srv = await startSrv(
    scope,
    `worker_processes 2; error_log logs/error.log info; load_module modules/dying.js; events {}
    http {
      proxy_cache_path cache levels=1:2 keys_zone=one:1m;
      proxy_cache_path rules keys_zone=two:1m use_temp_path=off;
      map $request_method $is_purge { PURGE 1; default 0; }
      upstream members { server 127.0.0.1:${backend.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; proxy_cache one; proxy_cache_valid 200 1h; proxy_cache_key $uri; proxy_cache_purge $is_purge;
        proxy_cache_lock on; proxy_cache_lock_streaming on; proxy_cache_lock_timeout 60s; proxy_cache_lock_age 60s; proxy_next_upstream off;
        add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass http://members; }
        location /slices { slice 10; proxy_cache_key $uri$slice_range; proxy_cache_valid 206 1h; proxy_set_header Range $slice_range; proxy_pass http://members; }
        location /gzip { gzip on; gzip_types *; gzip_min_length 1; proxy_pass http://members; }
        location /nothing { return 204; }
        location /led { proxy_intercept_errors on; error_page 502 503 /elsewhere; proxy_pass http://members; }
        location /elsewhere { proxy_cache off; proxy_pass http://members; }
        location /dying { dying; proxy_pass http://members; }
        location /rules { proxy_cache two; proxy_cache_rules rfc9111; proxy_pass http://members; } }
    }`,
    { files: { 'modules/dying.js': DYING }, allowCrashes: true },
  );
  const asked = (path: string, count = 1): Promise<ServerResponse> => waitFor(`request ${count} for ${path}`, () => at(path)[count - 1]);
  return { srv, at, asked };
});

async function client(t: ExecutionContext, { srv }: Setup, path: string, fields = ''): Promise<RawConnection> {
  const connection = await connectRaw(t, srv.port('web'));
  connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n`);
  return connection;
}

/** As many that both workers have some of them. */
function clients(t: ExecutionContext, setup: Setup, path: string, fields = ''): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: 12 }, () => client(t, setup, path, fields)));
}

/** Fields of a slice of 10 bytes. */
function slice(from: number): Record<string, string | number> {
  return { 'Content-Range': `bytes ${from}-${from + 9}/20`, 'Content-Length': 10, ETag: '"s"' };
}

/** The body of a response in chunks. */
function unchunked(text: string): string {
  const [, size = '0'] = /^([0-9a-f]+)\r\n/i.exec(text) ?? [];
  const [start, length] = [size.length + 2, Number.parseInt(size, 16)];
  return length === 0 ? '' : text.slice(start, start + length) + unchunked(text.slice(start + length + 2));
}

const bodyOf = (text: string): string => unchunked(text.slice(text.indexOf('\r\n\r\n') + 4));

test.serial('head and body reach waiting requests in all workers while the member sends them', async (t) => {
  const setup = await start();
  const first = await client(t, setup, '/a');
  const response = await setup.asked('/a');
  const early = await clients(t, setup, '/a');
  response.writeHead(200, { 'X-From': 'member' }).flushHeaders();
  for (const one of [first, ...early]) t.regex((await one.receive(/\r\n\r\n/)).input, /^HTTP\/1.1 200 [^]*X-From: member/);
  response.write('first ');
  for (const one of early) await one.receive(/first /);
  const late = await clients(t, setup, '/a');
  for (const one of late) await one.receive(/X-Cache: HIT[^]*first /);
  response.end('last');
  for (const one of [...early, ...late]) t.regex(await one.receiveAll(), /X-Cache: HIT[^]*first [^]*last\r\n0\r\n\r\n$/);
  t.is(setup.at('/a').length, 1);
  await waitFor('the stored one', async () => (await get(setup.srv.port('web'), '/a')).body === 'first last');
  t.is(setup.at('/a').length, 1);
});

test.serial('each gets it as fast as it reads', async (t) => {
  const setup = await start();
  const size = 6_000_000;
  const body = Buffer.alloc(size, 'abcdefghij');
  const first = await client(t, setup, '/slow');
  first.socket.pause();
  const response = await setup.asked('/slow');
  const [slow, ...fast] = await clients(t, setup, '/slow');
  slow?.socket.pause();
  response.writeHead(200, { 'Content-Length': size }).write(body.subarray(0, size - 10));
  for (const one of fast) await waitFor('all but the end', () => one.received.length > size - 10);
  response.end(body.subarray(size - 10));
  for (const one of fast) t.true((await one.receiveAll()).endsWith(body.latin1Slice()));
  for (const one of [first, slow as RawConnection]) {
    one.socket.resume();
    const text = await one.receiveAll();
    t.regex(text.slice(0, 1000), /Content-Length: 6000000\r\n/);
    t.true(text.endsWith(body.latin1Slice()));
  }
  t.is(setup.at('/slow').length, 1);
});

for (const [what, length] of [
  ['with a length', { 'Content-Length': 100 }],
  ['without a length', {}],
] as const) {
  test.serial(`a response that ends in the middle is cut off for all: ${what}`, async (t) => {
    const setup = await start();
    const path = `/cut${String(what === 'with a length')}`;
    await client(t, setup, path);
    const response = await setup.asked(path);
    const waiting = await clients(t, setup, path);
    const session = http2.connect(`http://127.0.0.1:${setup.srv.port('web')}`);
    session.on('error', () => undefined);
    t.teardown(() => session.destroy());
    const stream = session.request({ ':path': path });
    let error: unknown;
    stream.on('error', (thrown) => (error = thrown)).resume();
    response.writeHead(200, length).write('half');
    for (const one of waiting) await one.receive(/half/);
    response.destroy();
    for (const one of waiting) t.notRegex(await one.receiveAll(), /\r\n0\r\n\r\n$/);
    await waitFor('the end of the stream', () => error !== undefined);
    t.is((error as { code?: string }).code, 'ERR_HTTP2_STREAM_ERROR');
    const next = client(t, setup, path);
    (await setup.asked(path, 2)).end('whole');
    t.regex(await (await next).receiveAll(), /MISS[^]*whole/);
  });
}

test.serial('the client that has started it may leave', async (t) => {
  const setup = await start();
  const first = await client(t, setup, '/left');
  const response = await setup.asked('/left');
  const waiting = await clients(t, setup, '/left');
  response.write('one ');
  await first.receive(/one /);
  first.socket.destroy();
  await waiting[0]?.receive(/one /);
  response.end('two');
  for (const one of waiting) t.regex(await one.receiveAll(), /one [^]*two\r\n0\r\n\r\n$/);
  t.is(setup.at('/left').length, 1);
});

test.serial('one that waits may leave', async (t) => {
  const setup = await start();
  await client(t, setup, '/leaves');
  const response = await setup.asked('/leaves');
  const [one, ...others] = await clients(t, setup, '/leaves');
  one?.socket.destroy();
  response.write('one ');
  await others[0]?.receive(/one /);
  others[0]?.socket.destroy();
  response.end('two');
  for (const other of others.slice(1)) t.regex(await other.receiveAll(), /one [^]*two\r\n0\r\n\r\n$/);
});

for (const [what, fields] of [
  ['no-store', { 'Cache-Control': 'no-store' }],
  ['Set-Cookie', { 'Set-Cookie': 'a=1' }],
  ['Vary: *', { Vary: '*' }],
] as const) {
  test.serial(`a response that is not stored is for one alone, and the others ask at once: ${what}`, async (t) => {
    const setup = await start();
    const path = `/own-${what.replaceAll(/\W/g, '')}`;
    const first = await client(t, setup, path);
    const response = await setup.asked(path);
    const waiting = await clients(t, setup, path);
    // When these have their responses, most of the requests before them wait.
    for (let round = 0; round < 20; round++) await get(setup.srv.port('web'), '/nothing');
    response.writeHead(200, fields).write('mine');
    await setup.asked(path, 7);
    const isOver = (): boolean => waiting.every(({ closed }) => closed);
    await waitFor('all responses', () => {
      for (const other of setup.at(path).slice(1)) if (!other.headersSent) other.writeHead(200, fields).end('yours');
      return isOver();
    });
    for (const one of waiting) t.regex(one.received, /MISS[^]*yours/);
    response.end();
    t.regex(await first.receiveAll(), /mine/);
  });
}

for (const [what, status, fields] of [
  ['X-Accel-Redirect', 200, { 'X-Accel-Redirect': '/elsewhere' }],
  ['error_page', 503, {}],
] as const) {
  test.serial(`requests that wait for one that is led elsewhere ask at once: ${what}`, async (t) => {
    const setup = await start();
    const path = `/led/${what}`;
    const first = await client(t, setup, path);
    const response = await setup.asked(path);
    const elsewhere = setup.at('/elsewhere').length;
    const waiting = await clients(t, setup, path);
    for (let round = 0; round < 20; round++) await get(setup.srv.port('web'), '/nothing');
    response.writeHead(status, fields).end();
    await setup.asked(path, 7);
    const all = [first, ...waiting];
    await waitFor('all responses', () => {
      for (const other of setup.at(path)) if (!other.headersSent) other.writeHead(status, fields).end();
      if (setup.at('/elsewhere').length === elsewhere + all.length)
        for (const page of setup.at('/elsewhere')) if (!page.headersSent) page.end('page');
      return all.every(({ closed }) => closed);
    });
    for (const one of all) t.regex(one.received, /page/);
  });
}

test.serial('no request waits for the page that a failed one gets', async (t) => {
  const setup = await start();
  const first = await client(t, setup, '/led/failed');
  const response = await setup.asked('/led/failed');
  const other = await client(t, setup, '/led/failed');
  await get(setup.srv.port('web'), '/nothing');
  const elsewhere = setup.at('/elsewhere').length;
  response.destroy();
  (await setup.asked('/led/failed', 2)).end('second');
  t.regex(await other.receiveAll(), /second/);
  (await setup.asked('/elsewhere', elsewhere + 1)).end('page');
  t.regex(await first.receiveAll(), /page/);
});

test.serial('of a response that varies, each value of the fields is asked for once', async (t) => {
  const setup = await start();
  const path = '/vary';
  await client(t, setup, path, 'Accept-Language: en\r\n');
  const response = await setup.asked(path);
  const english = await clients(t, setup, path, 'Accept-Language: en\r\n');
  const german = await clients(t, setup, path, 'Accept-Language: de\r\n');
  response.writeHead(200, { Vary: 'Accept-Language' }).write('hello ');
  for (const one of english) await one.receive(/hello /);
  const other = await setup.asked(path, 2);
  other.writeHead(200, { Vary: 'Accept-Language' }).write('hallo ');
  for (const one of german) await one.receive(/hallo /);
  response.end('world');
  other.end('welt');
  for (const one of english) t.regex(await one.receiveAll(), /world\r\n0/);
  for (const one of german) t.regex(await one.receiveAll(), /welt\r\n0/);
  t.is(setup.at(path).length, 2);
  for (const [language, body] of [
    ['en', 'hello world'],
    ['de', 'hallo welt'],
  ] as const) {
    const stored = await get(setup.srv.port('web'), path, { headers: { 'Accept-Language': language } });
    t.deepEqual([stored.headers['x-cache'], stored.body], ['HIT', body]);
  }
});

test.serial('conditions and ranges of waiting requests', async (t) => {
  const setup = await start();
  await client(t, setup, '/part');
  const response = await setup.asked('/part');
  const [range, none, head] = await Promise.all([
    client(t, setup, '/part', 'Range: bytes=5-7\r\n'),
    client(t, setup, '/part', 'If-None-Match: "x"\r\n'),
    get(setup.srv.port('web'), '/part', { method: 'HEAD' }).catch(() => undefined),
    setup.asked('/part').then((one) => void one.writeHead(200, { ETag: '"x"', 'Content-Length': 10 }).write('01234')),
  ]);
  t.regex(await none.receiveAll(), /^HTTP\/1.1 304/);
  t.is(head?.headers['content-length'], '10');
  response.end('56789');
  t.regex(await range.receiveAll(), /^HTTP\/1.1 206[^]*bytes 5-7\/10[^]*\r\n\r\n567$/);
  t.is(setup.at('/part').length, 1);
});

test.serial('slices that arrive are for all who wait, and each is requested once', async (t) => {
  const setup = await start();
  const first = await client(t, setup, '/slices');
  const begun = await setup.asked('/slices');
  const waiting = await clients(t, setup, '/slices');
  begun.writeHead(206, slice(0)).write('01234');
  for (const one of waiting) await one.receive(/\r\n\r\n01234/);
  begun.end('56789');
  const next = await setup.asked('/slices', 2);
  t.is(next.req.headers.range, 'bytes=10-19');
  next.writeHead(206, slice(10)).end('abcdefghij');
  for (const one of [first, ...waiting]) t.regex(await one.receiveAll(), /Content-Length: 20\r\n[^]*0123456789abcdefghij$/);
  t.is(setup.at('/slices').length, 2);
});

test.serial('filters of the location are applied for each', async (t) => {
  const setup = await start();
  await client(t, setup, '/gzip');
  const response = await setup.asked('/gzip');
  const [packed, plain] = await Promise.all([client(t, setup, '/gzip', 'Accept-Encoding: gzip\r\n'), client(t, setup, '/gzip')]);
  response.writeHead(200, { 'Content-Type': 'text/plain' }).write('hello '.repeat(100));
  await plain.receive(/hello /);
  response.end('end');
  t.is(bodyOf(await plain.receiveAll()), `${'hello '.repeat(100)}end`);
  const text = await packed.receiveAll();
  t.regex(text, /Content-Encoding: gzip/);
  t.is(gunzipSync(Buffer.from(bodyOf(text), 'latin1')).toString(), `${'hello '.repeat(100)}end`);
});

for (const [what, rest] of [
  ['key', ''],
  ['prefix', '*'],
] as const) {
  test.serial(
    `after a purge by ${what} a response that arrives is for those before, and one request fetches the next one for all`,
    async (t) => {
      const setup = await start();
      const path = `/purged-${what}`;
      await client(t, setup, path);
      const response = await setup.asked(path);
      const before = await client(t, setup, path);
      response.write('old ');
      await before.receive(/old /);
      await get(setup.srv.port('web'), `${path}${rest}`, { method: 'PURGE' });
      const after = await clients(t, setup, path);
      const next = await setup.asked(path, 2);
      next.write('new ');
      for (const one of after) await one.receive(/new /);
      response.end('end');
      t.regex(await before.receiveAll(), /old [^]*end\r\n0/);
      next.end('end');
      for (const one of after) t.regex(await one.receiveAll(), /new [^]*end\r\n0/);
      t.is(setup.at(path).length, 2);
      await waitFor('the stored one', async () => (await get(setup.srv.port('web'), path)).body === 'new end');
    },
  );
}

test.serial('with the rules of RFC 9111 too; and a response that has to be validated is not shared', async (t) => {
  const setup = await start();
  await client(t, setup, '/rules/a');
  const response = await setup.asked('/rules/a');
  const waiting = await clients(t, setup, '/rules/a');
  response.writeHead(200, { 'Cache-Control': 'max-age=60' }).write('one ');
  for (const one of waiting) await one.receive(/Age: \d[^]*one /);
  response.end('two');
  for (const one of waiting) t.regex(await one.receiveAll(), /one [^]*two\r\n0/);
  t.is(setup.at('/rules/a').length, 1);

  const first = await client(t, setup, '/rules/b');
  const own = await setup.asked('/rules/b');
  const other = await client(t, setup, '/rules/b');
  own.writeHead(200, { 'Cache-Control': 'no-cache', ETag: '"1"' }).end('private');
  t.regex(await first.receiveAll(), /private/);
  const second = await setup.asked('/rules/b', 2);
  t.is(second.req.headers['if-none-match'], '"1"');
  second.writeHead(304, { ETag: '"1"' }).end();
  t.regex(await other.receiveAll(), /REVALIDATED[^]*private/);
});

test.serial('a worker that dies while it fetches cuts off the requests that wait elsewhere, and the next one asks again', async (t) => {
  const setup = await start();
  const first = await client(t, setup, '/dying?victim');
  const response = await setup.asked('/dying');
  const waiting = await clients(t, setup, '/dying');
  response.write('half');
  for (const one of waiting) await one.receive(/half/);
  while (!first.closed) await (await client(t, setup, '/dying?die')).receiveAll();
  for (const one of waiting) t.notRegex(await one.receiveAll(), /\r\n0\r\n\r\n$/);
  await setup.srv.waitForLog(/worker \d \(thread \d+\) exited with code 3/);
  const next = await waitFor('another worker', () => client(t, setup, '/dying').catch(() => undefined));
  (await setup.asked('/dying', 2)).end('whole');
  t.regex(await next.receiveAll(), /whole/);
});
