import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { exchange, get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Waits for the log to have a line for the request that was made last. */
async function lines(srv: Srv, file: string, count: number): Promise<string[]> {
  await srv.waitForLog(new RegExp(`^(.*\\n){${count}}`), file);
  return srv.read(file).trimEnd().split('\n');
}

test('the predefined format, and where lines go', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format short "$request_uri";
      log_format pieces "$request_method "
                        '$status';
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 "hello"; }
        location /own { access_log logs/own.log short; return 200; }
        location /two { access_log logs/own.log short; access_log logs/pieces.log pieces; return 404; }
        location /off { access_log off; return 200; }
        location /if { access_log logs/if.log short if=$arg_log; return 200; }
        location /by-name { access_log logs/$arg_name.log short; return 200; }
      }
    }`,
  );
  const port = srv.port('web');
  await get(port, '/?a', { headers: { referer: 'http://r/', 'user-agent': 'a"b\\' } });
  await get(port, '/own');
  await get(port, '/two');
  await get(port, '/off');
  for (const query of ['', '?log=', '?log=0', '?log=1', '?log=00']) await get(port, `/if${query}`);
  await get(port, '/by-name?name=first');
  await get(port, '/by-name?name=second');
  await get(port, '/last', { headers: { authorization: `Basic ${Buffer.from('me:x').toString('base64')}` } });
  const combined = await lines(srv, 'logs/access.log', 2);
  const time = String.raw`\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]`;
  t.is(combined.length, 2);
  t.regex(combined[0] ?? '', new RegExp(String.raw`^127\.0\.0\.1 - - ${time} "GET /\?a HTTP/1\.1" 200 5 "http://r/" "a\\x22b\\x5C"$`));
  t.regex(combined[1] ?? '', new RegExp(String.raw`^127\.0\.0\.1 - me ${time} "GET /last HTTP/1\.1" 200 5 "-" "-"$`));
  t.deepEqual(await lines(srv, 'logs/own.log', 2), ['/own', '/two']);
  t.deepEqual(await lines(srv, 'logs/pieces.log', 1), ['GET 404']);
  t.deepEqual(await lines(srv, 'logs/if.log', 2), ['/if?log=1', '/if?log=00']);
  t.deepEqual(await lines(srv, 'logs/first.log', 1), ['/by-name?name=first']);
  t.deepEqual(await lines(srv, 'logs/second.log', 1), ['/by-name?name=second']);
});

test('a request that was rejected has no method, no path and no version', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format parts "$request_method $uri $document_uri $request_uri $server_protocol [$request] $status";
      access_log logs/parts.log parts;
      server { listen 127.0.0.1:%%PORT_web%%; return 200; }
    }`,
  );
  await exchange(t, srv.port('web'), 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.deepEqual(await lines(srv, 'logs/parts.log', 1), ['- - - - - [GET  / HTTP/1.1] 400']);
});

test('escape=default, json, none', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format plain "[$http_x_a][$uri][$http_none]";
      log_format json escape=json '{"a":"$http_x_a","uri":"$uri","none":"$http_none"}';
      log_format none escape=none "[$http_x_a][$uri][$http_none]";
      server {
        listen 127.0.0.1:%%PORT_web%%;
        access_log logs/plain.log plain;
        access_log logs/json.log json;
        access_log logs/none.log none;
        location / { return 200; }
      }
    }`,
  );
  await exchange(t, srv.port('web'), 'GET /%22%5c%0a%c3%bc%7f HTTP/1.0\r\nX-A: a"b\\c\xc3\xa9\r\n\r\n');
  t.deepEqual(await lines(srv, 'logs/plain.log', 1), [String.raw`[a\x22b\x5Cc\xC3\xA9][/\x22\x5C\x0A\xC3\xBC\x7F][-]`]);
  const [json = ''] = await lines(srv, 'logs/json.log', 1);
  t.deepEqual(JSON.parse(json), { a: 'a"b\\cé', uri: '/"\\\nü\x7f', none: '' });
  await srv.waitForLog(/\[\]\n$/, 'logs/none.log');
  t.is(srv.read('logs/none.log'), '[a"b\\cé][/"\\\nü\x7f][]\n');
});

test('escape=json writes control characters as nginx does', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { log_format json escape=json '$uri'; server { listen 127.0.0.1:%%PORT_web%%; access_log logs/json.log json; return 200; } }`,
  );
  await exchange(t, srv.port('web'), 'GET /%01%1f%0b%0a%09%5cu001f%5c%5c%22%7f HTTP/1.0\r\n\r\n');
  const [json = ''] = await lines(srv, 'logs/json.log', 1);
  t.is(json, String.raw`/\u0001\u001F\u000B\n\t\\u001f\\\\\"` + '\x7f');
});

test('what is logged of requests that did not go well', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format short '$remote_addr "$request" $status $body_bytes_sent $request_completion';
      access_log logs/short.log short;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 "ok"; }
        location /silent { return 444; }
      }
    }`,
  );
  const port = srv.port('web');
  await exchange(t, port, 'NONSENSE\r\n\r\n');
  await exchange(t, port, 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n');
  await exchange(t, port, `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await exchange(t, port, 'GET /silent HTTP/1.1\r\nHost: a\r\n\r\n');
  await exchange(t, port, 'HEAD /x HTTP/1.0\r\n\r\n');
  const logged = await lines(srv, 'logs/short.log', 5);
  t.regex(logged[0] ?? '', /^127\.0\.0\.1 "NONSENSE" 400 \d+ OK$/);
  t.regex(logged[1] ?? '', /^127\.0\.0\.1 "GET \/%zz HTTP\/1\.1" 400 \d+ OK$/);
  t.regex(logged[2] ?? '', /^127\.0\.0\.1 "GET \/a{2000,}" 414 \d+ OK$/);
  t.is(logged[3], '127.0.0.1 "GET /silent HTTP/1.1" 444 0 ');
  t.is(logged[4], '127.0.0.1 "HEAD /x HTTP/1.0" 200 0 OK');
});

test('lengths and statuses as they were on the wire', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', (chunk) => {
      if (chunk.includes('pgrade')) socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello');
      else socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n');
    });
  });
  const names = ['status', 'body_bytes_sent', 'request_length', 'content_length', 'sent_http_content_length', 'sent_http_connection'];
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format lengths "$uri ${names.map((name) => `$${name}`).join(' ')}";
      access_log logs/lengths.log lengths;
      large_client_header_buffers 2 1k;
      error_page 494 /large;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }
        location /chunked { proxy_pass http://127.0.0.1:${backend.port}; }
        location /empty { return 204; }
        location /whole { return 200 hello; }
        location /large { return 200 "status $status"; }
      }
    }`,
  );
  const port = srv.port('web');
  const head = 'HTTP/1.1\r\nHost: a\r\nConnection: close\r\n';
  const requests = [
    `POST /chunked ${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    `GET /empty ${head}\r\n`,
    `GET /whole ${head}\r\n`,
    'GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  ];
  for (const request of requests) await exchange(t, port, request);
  t.regex(await exchange(t, port, `GET / ${head}X: ${'a'.repeat(2000)}\r\n\r\n`), /status 400$/);
  const [chunked, empty, whole, upgrade] = requests.map((request) => request.length);
  const logged = await lines(srv, 'logs/lengths.log', 5);
  t.deepEqual(logged.slice(0, 4), [
    `/chunked 200 15 ${chunked} 5 - close`,
    `/empty 204 0 ${empty} - - close`,
    `/whole 200 5 ${whole} - 5 close`,
    `/upgrade 101 5 ${upgrade} - - upgrade`,
  ]);
  t.regex(logged[4] ?? '', /^\/large 400 10 /);
});

test('gzip: whole blocks, when the buffer is full, after the time of flush, and at the end', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format short "$request_uri";
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { access_log logs/full.gz short gzip=9 buffer=100; access_log logs/end.gz short gzip; return 200; }
        location /flushed { access_log logs/flushed.gz short gzip buffer=1m flush=100ms; return 200; }
      }
    }`,
  );
  const port = srv.port('web');
  const unzipped = (file: string): string => {
    const bytes = readFileSync(srv.path(file));
    return bytes.length === 0 ? '' : gunzipSync(bytes).toString();
  };
  const paths = Array.from({ length: 30 }, (_, at) => `/number-${at}`);
  for (const path of paths) await get(port, path);
  await waitFor('full blocks', () => unzipped('logs/full.gz').startsWith('/number-0\n'));
  t.is(unzipped('logs/end.gz'), '');
  await get(port, '/flushed');
  await waitFor('the time', () => unzipped('logs/flushed.gz') === '/flushed\n');
  await srv.stop('SIGQUIT');
  const all = paths.map((path) => `${path}\n`).join('');
  t.is(unzipped('logs/full.gz'), all);
  t.is(unzipped('logs/end.gz'), all);
});

test('every line that is wrong is reported', async (t) => {
  const conf = `events {} http {
  log_format a x; log_format a y; log_format combined z;
  server {
    listen 127.0.0.1:8001;
    access_log /nodir/a.log; access_log off;
    access_log logs/b.log nofmt; access_log logs/c.log nofmt2;
  }
}`;
  const { stderr } = await check(t, conf);
  t.deepEqual(
    [...stderr.matchAll(/^srv: \[emerg\] (.*) in \S+:(\d+)$/gm)].map(([, message, line]) => `${line}: ${message}`),
    [
      '2: duplicate "log_format" name "a"',
      '2: duplicate "log_format" name "combined"',
      '5: open() "/nodir/a.log" failed (2: No such file or directory)',
      '6: unknown log format "nofmt"',
      '6: unknown log format "nofmt2"',
    ],
    stderr,
  );
  t.regex(stderr, /5 \| {5}access_log .*\n {6}\| {5}\^{10}\nsrv:/);
});
