import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { end, fastcgiBackend, record, response, stderr, stdout, type FastcgiHandler } from '../harness/fastcgi-backend.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const OK = 'Content-Type: text/plain\r\n\r\n';
const BIG = 'x'.repeat(200_000);

/** Bytes of the application by the path of a request. */
const RESPONSES: Readonly<Record<string, Buffer>> = {
  '/plain': response(`${OK}hello`),
  '/line-feeds': response('Content-Type: text/plain\nX-A: b\n\nhello'),
  '/padding': Buffer.concat([stdout(`${OK}he`, 6), stdout('llo', 255), record(6, ''), end()]),
  '/no-empty-record': Buffer.concat([stdout(`${OK}hello`), end()]),
  '/status': response('Status: 404 Nothing here\r\nContent-Type: text/plain\r\n\r\nnone'),
  '/redirect': response('Location: /there\r\n\r\n'),
  '/length': response('Content-Length: 5\r\n\r\nhello and more'),
  '/orders': response('X-Accel-Redirect: /inside\r\nStatus: 200 OK\r\n\r\n'),
  '/hop': response('Connection: close\r\nTransfer-Encoding: chunked\r\nKeep-Alive: 5\r\n\r\nbody'),
  '/errors': Buffer.concat([stderr('PHP Warning: first\n'), stdout(`${OK}fine`), stderr('second'), end()]),
  '/short': response('Content-Length: 50\r\n\r\nhello'),
  '/no-head': Buffer.concat([stdout('Content-Type: text/plain\r\n'), end()]),
  '/nothing': end(),
  '/overloaded': end(2),
  '/version': Buffer.concat([Buffer.from([9, 6, 0, 1, 0, 0, 0, 0])]),
  '/type': record(11, 'what'),
  '/other-request': Buffer.from([1, 6, 0, 7, 0, 0, 0, 0]),
  '/bad-status': response('Status: many\r\n\r\nbody'),
  '/bad-field': response('Content-Type: text/plain\r\nno colon\r\n\r\nbody'),
  '/big-head': response(`X-A: ${'a'.repeat(9000)}\r\n\r\nbody`),
  '/big': Buffer.concat([stdout(OK), ...Array.from({ length: 20 }, () => stdout(BIG.slice(0, 10_000), 3)), record(6, ''), end()]),
};

const handler: FastcgiHandler = ({ params }) => ({ bytes: RESPONSES[params['SCRIPT_NAME'] ?? ''] ?? response(`${OK}?`) });

const CONF = (port: number, second: number): string => `events {} error_log logs/error.log info; http {
  upstream kept { server 127.0.0.1:${port}; keepalive 4; }
  upstream two { server 127.0.0.1:${second}; server 127.0.0.1:${port} backup; }
  server {
    listen 127.0.0.1:%%PORT_web%%;
    fastcgi_param SCRIPT_NAME $uri; fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param NONE $arg_none if_not_empty;
    fastcgi_param LONG ${'l'.repeat(300)};
    location / { fastcgi_pass 127.0.0.1:${port}; }
    location = /inside { internal; return 200 inside; }
    location /kept/ { rewrite ^/kept(.*) $1 break; fastcgi_pass kept; fastcgi_keep_conn on; }
    location /second/ { rewrite ^/second(.*) $1 break; fastcgi_pass two; fastcgi_next_upstream error invalid_header; add_header X-From $upstream_addr; }
    location /caught/ { rewrite ^/caught(.*) $1 break; fastcgi_pass 127.0.0.1:${port}; fastcgi_catch_stderr "PHP Warning"; }
    location /script/ { fastcgi_pass 127.0.0.1:${port}; fastcgi_index index.php; fastcgi_split_path_info ^/script(/.+\\.php)(/.*)$;
      fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param PATH_INFO $fastcgi_path_info; fastcgi_param HTTP_X_OWN mine; }
    location /no-fields/ { fastcgi_pass 127.0.0.1:${port}; fastcgi_pass_request_headers off; fastcgi_pass_request_body off; fastcgi_param A b; }
  }
}`;

test('fastcgi_pass', async (t) => {
  const backend = await fastcgiBackend(t, handler);
  const failing = await fastcgiBackend(t, () => ({ bytes: end() }));
  const srv = await startSrv(t, CONF(backend.port, failing.port));
  const ask = (path: string, options = {}) => get(srv.port('web'), path, options);

  for (const path of ['/plain', '/line-feeds', '/padding', '/no-empty-record', '/kept/padding']) {
    const { status, body, headers } = await ask(path);
    t.deepEqual([status, body, headers['content-type']], [200, 'hello', 'text/plain'], path);
  }
  const status = await ask('/status');
  t.deepEqual([status.status, status.body, status.headers['status']], [404, 'none', undefined], 'Status is not passed on');
  const redirect = await ask('/redirect');
  t.is(redirect.status, 302);
  t.regex(redirect.headers['location'] ?? '', /\/there$/);
  t.is((await ask('/length')).body, 'hello', 'the response ends where its Content-Length says');
  t.is((await ask('/orders')).body, 'inside');
  const hop = await ask('/hop');
  t.deepEqual([hop.status, hop.body, hop.headers['keep-alive']], [200, 'body', undefined], 'fields of its connection are not passed on');
  t.is((await ask('/big')).body.length, 200_000);
  t.is((await ask('/plain', { method: 'HEAD' })).status, 200);

  for (const path of ['no-head', 'nothing', 'overloaded', 'version', 'type', 'other-request', 'bad-status', 'bad-field', 'big-head'])
    t.is((await ask(`/${path}`)).status, 502, path);
  await t.throwsAsync(ask('/short'), undefined, 'a body that is too short is cut off');
  const log = srv.log();
  t.regex(log, /FastCGI sent in stderr|upstream sent unsupported FastCGI protocol version: 9/);
  t.regex(log, /upstream sent invalid FastCGI record type: 11/);
  t.regex(log, /upstream prematurely closed FastCGI stdout while reading response header from upstream/);
  t.regex(log, /upstream sent too big header while reading response header from upstream/);

  t.is((await ask('/errors')).body, 'fine');
  t.regex(srv.log(), /FastCGI sent in stderr: "PHP Warning: first"/);
  t.is((await ask('/caught/errors')).status, 502, 'fastcgi_catch_stderr');

  const { status: next, headers } = await ask('/second/plain');
  t.is(next, 200);
  t.is(headers['x-from'], `127.0.0.1:${failing.port}, 127.0.0.1:${backend.port}`);
});

test('parameters, bodies and connections of FastCGI requests', async (t) => {
  const backend = await fastcgiBackend(t, handler);
  const srv = await startSrv(t, CONF(backend.port, backend.port));
  const ask = async (path: string, options = {}) => {
    await get(srv.port('web'), path, options);
    return backend.requests.at(-1) ?? { params: {}, body: '', keeps: false };
  };
  const { params } = await ask('/plain', { headers: { 'x-thing': '1', cookie: 'a=b', 'x_low-dash': '2' } });
  t.is(params['LONG'], 'l'.repeat(300));
  t.is(params['HTTP_X_THING'], '1');
  t.is(params['HTTP_COOKIE'], 'a=b');
  t.is(params['HTTP_HOST'], `127.0.0.1:${srv.port('web')}`);
  t.false('NONE' in params, 'if_not_empty');
  t.true('CONTENT_LENGTH' in params);
  t.is((await ask('/plain?none=1')).params['NONE'], '1');

  const sent = await ask('/plain', { method: 'POST', body: 'some data' });
  t.deepEqual([sent.body, sent.params['CONTENT_LENGTH']], ['some data', '9']);
  const chunked = await ask('/plain', { method: 'POST', body: 'some data', headers: { 'transfer-encoding': 'chunked' } });
  t.deepEqual([chunked.body, chunked.params['CONTENT_LENGTH']], ['some data', '9'], 'the length of a body without one');
  const large = await ask('/plain', { method: 'POST', body: BIG });
  t.is(large.body, BIG);

  const { params: script } = await ask('/script/a/b.php/c/d', { headers: { 'x-own': 'theirs' } });
  t.deepEqual([script['SCRIPT_NAME'], script['PATH_INFO'], script['HTTP_X_OWN']], ['/a/b.php', '/c/d', 'mine']);
  t.is((await ask('/script/')).params['SCRIPT_NAME'], '/script/index.php', 'fastcgi_index');
  const bare = await ask('/no-fields/', { method: 'POST', body: 'data', headers: { 'x-thing': '1' } });
  t.deepEqual([bare.params, bare.body], [{ A: 'b' }, '']);

  const before = backend.connections;
  for (let at = 0; at < 5; at++) t.true((await ask('/kept/plain')).keeps);
  t.is(backend.connections - before, 1, 'fastcgi_keep_conn with keepalive');
  await ask('/plain');
  await ask('/plain');
  t.is(backend.connections - before, 3);
});

test('wrong FastCGI lines are rejected', async (t) => {
  const errorOf = async (lines: string): Promise<string> =>
    /\[emerg\] (.*) in /.exec(
      (await check(t, `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${lines} } } }`)).stderr,
    )?.[1] ?? '';
  t.is(await errorOf('fastcgi_split_path_info ^(.*)$;'), 'pattern "^(.*)$" must have 2 captures');
  t.is(await errorOf('fastcgi_pass 127.0.0.1;'), 'no port in upstream "127.0.0.1"');
  t.is(await errorOf('fastcgi_param A b sometimes;'), 'invalid value "sometimes"');
  t.is(await errorOf('fastcgi_buffers 1 4k;'), 'there must be at least 2 "fastcgi_buffers"');
  t.is(await errorOf('fastcgi_pass unix:/tmp/none.sock;'), '');
});

test('responses are stored: fastcgi_cache', async (t) => {
  const backend = await fastcgiBackend(t, ({ params }) => ({
    bytes: response(`${params['SCRIPT_NAME'] === '/missing' ? 'Status: 404 Not Found\r\n' : ''}${OK}${backend.requests.length}`),
  }));
  const srv = await startSrv(
    t,
    `events {} http {
      fastcgi_cache_path cache levels=1:2 keys_zone=app:1m;
      server { listen 127.0.0.1:%%PORT_web%%; add_header X-Cache $upstream_cache_status always;
        fastcgi_param SCRIPT_NAME $uri; fastcgi_param REQUEST_METHOD $request_method;
        fastcgi_cache app; fastcgi_cache_key $host$request_uri; fastcgi_cache_valid 200 1h; fastcgi_cache_valid 404 0;
        location / { fastcgi_pass 127.0.0.1:${backend.port}; } }
    }`,
  );
  const ask = async (path: string): Promise<string> => {
    const { headers, body, status } = await get(srv.port('web'), path);
    return `${String(headers['x-cache'])} ${status} ${body}`;
  };
  t.is(await ask('/page'), 'MISS 200 1');
  await waitFor('HIT', async () => (await ask('/page')).startsWith('HIT 200'));
  const count = backend.requests.length;
  t.regex(await ask('/page'), /^HIT 200 \d$/);
  t.is(backend.requests.length, count);
  t.regex(await ask('/missing'), /^MISS 404/);
  t.regex(await ask('/missing'), /^MISS 404/);
});
