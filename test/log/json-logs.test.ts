import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

type Line = Readonly<Record<string, unknown>>;

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

test('access logs and error logs of JSON objects, and a sample of the requests', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log notice; error_log logs/error.json info json;
    events {}
    http {
      log_json own { status $status; took $request_time; what "$request_method $uri"; constant 'a"b'; arg $arg_a; none $arg_b; }
      upstream dead { server 127.0.0.1:%%PORT_none%%; }
      server {
        listen 127.0.0.1:%%PORT_web%%; server_name shop.example;
        access_log logs/own.json own; access_log logs/all.json json; access_log logs/some.log combined sample=3;
        location / { return 200 fine; }
        location /dead { error_log logs/dead.json error json; proxy_pass http://dead; }
      }
    }
    stream { log_json short { status $status; client $remote_addr; } access_log logs/stream.json short; server { listen 127.0.0.1:%%PORT_stream%%; return x; } }`,
  );
  const port = srv.port('web');
  await get(port, '/?a=12', { headers: { 'user-agent': 'caf\u00e9 "x"' } });
  for (let n = 0; n < 5; n++) await get(port, '/');
  await get(port, '/dead');
  // The location /dead counts by itself.
  await waitFor('the last line', () => srv.read('logs/some.log').split('\n').length === 4);
  const own = linesOf(srv.read('logs/own.json'));
  t.is(own.length, 7);
  const { took, ...first } = own[0] as Line;
  t.is(typeof took, 'number');
  t.deepEqual(first, { status: 200, what: 'GET /', constant: 'a"b', arg: '12', none: null });
  t.is(own.at(-1)?.['status'], 502);
  const [all] = linesOf(srv.read('logs/all.json'));
  t.like(all, { remote_addr: '127.0.0.1', method: 'GET', uri: '/?a=12', server: 'shop.example', status: 200, upstream_addr: null });
  t.regex(String(all?.['user_agent']), /^caf.* "x"$/);
  t.regex(String(all?.['time']), /^\d{4}-\d\d-\d\dT/);

  const [failed] = linesOf(srv.read('logs/dead.json'));
  t.like(failed, {
    level: 'error',
    client: '127.0.0.1',
    server: 'shop.example',
    request: 'GET /dead HTTP/1.1',
    upstream: `http://127.0.0.1:${srv.port('none')}/dead`,
  });
  t.regex(String(failed?.['message']), /Connection refused.* while connecting to upstream$/);
  t.is(failed?.['request_id'], linesOf(srv.read('logs/all.json')).at(-1)?.['request_id']);
  t.deepEqual([typeof failed?.['pid'], typeof failed?.['thread'], typeof failed?.['connection']], ['number', 'number', 'number']);
  t.true(
    linesOf(srv.read('logs/error.json')).some(({ level, message }) => level === 'notice' && String(message).startsWith('start worker')),
  );
});

const http = (lines: string, access = ''): string => `events {} http { ${lines} server { listen 127.0.0.1:1; ${access} return 200; } }`;

test('errors of log_json', async (t) => {
  const cases: readonly (readonly [conf: string, error: RegExp])[] = [
    [http('log_json a { }'), /"log_json" has no keys/],
    [http('log_json a { x $status $uri; }'), /invalid number of parameters/],
    [http('log_json a { x $status; x $uri; }'), /duplicate key "x"/],
    [http('log_json a { x $nothing_like_that; }'), /unknown "nothing_like_that" variable/],
    [http('log_json a { x $status; } log_format a "";'), /duplicate "log_json" name "a"/],
    [http('', 'access_log logs/a none;'), /unknown log format "none"/],
    [http('', 'access_log logs/a combined sample=0;'), /sample/],
  ];
  for (const [conf, error] of cases) t.regex((await check(t, conf)).stderr, error);
  const own = await check(t, http('log_format json escape=json "$status";', 'access_log logs/a json;'));
  t.is(own.code, 0, own.stderr);
});
