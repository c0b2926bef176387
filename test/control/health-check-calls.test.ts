import test from 'ava';
import { check } from '../harness/check.js';
import { errorOf } from './api-client.js';
import { sharedNode, upstreams } from './node.js';

const MODULE = 'load_module modules/srv_http_health_check_module.so;';

const shared = sharedNode({
  main: MODULE,
  controlMain: MODULE,
  http: `${upstreams('demo', 'api')} upstream static { server 127.0.0.1:1; }`,
});

test('calls of the API: reads, writes, dry runs, versions', async (t) => {
  const node = await shared();
  const settings = {
    interval: '90s',
    jitter: '1500ms',
    passes: 2,
    fails: '3',
    port: 81,
    http: { uri: '/a?b=c', host: 'x.example', status: '200-299 301', header: ['X-A = b c', '! X-B', 'X-C ~* "d;}'], body: '~ o k;' },
    ssl: { verify: false },
  };
  const shown = {
    upstream: 'api',
    type: 'http',
    engine: 'http',
    ...settings,
    fails: 3,
    timeout: '5s',
    visit_interval: '0s',
    ssl: { server_name: '', verify: false, trusted_certificate: '', protocols: 'TLSv1.2 TLSv1.3' },
  };
  const dry = await node.call('POST', '/hc/http/api?dry_run=1', settings);
  t.like(dry.json, { dry_run: true });
  t.regex((dry.json as { diff: string[] }).diff.join('\n'), /\+ .*health_check_http interval=90s jitter=1500ms/);
  t.is(errorOf(await node.call('GET', '/hc/http/api')).code, 'HealthCheckNotFound');
  const added = await node.call('POST', '/hc/http/api', settings);
  t.is(added.status, 201, added.body);
  t.deepEqual(added.json, shown as never);
  const read = await node.call('GET', '/hc/http/api');
  t.deepEqual(read.json, shown as never);
  t.is(read.headers['etag'], added.headers['etag']);
  t.deepEqual((await node.call('GET', '/hc')).json, [shown] as never);
  t.is(errorOf(await node.call('POST', '/hc/http/api', settings)).code, 'EntryExists');
  const same = await node.call('PUT', '/hc/http/api', read.json);
  t.is(same.status, 200, same.body);
  t.deepEqual(same.json, shown as never);
  const replaced = await node.call('PUT', '/hc/http/api', { interval: '80s' }, { 'if-match': String(read.headers['etag']) });
  t.is(replaced.status, 200);
  t.like(replaced.json, { interval: '80s', passes: 1, http: { uri: '/' } });
  t.is(errorOf(await node.call('PUT', '/hc/http/api', {}, { 'if-match': String(read.headers['etag']) })).code, 'VersionMismatch');
  t.is(errorOf(await node.call('DELETE', '/hc/http/api', undefined, { 'if-match': '"0"' })).code, 'VersionMismatch');
  t.like((await node.call('DELETE', '/hc/http/api?dry_run=1')).json, { dry_run: true });
  t.is((await node.call('DELETE', '/hc/http/api')).status, 204);
  t.is(errorOf(await node.call('DELETE', '/hc/http/api')).code, 'HealthCheckNotFound');
});

for (const [what, path, body, expected] of [
  ['an unknown upstream', '/hc/http/none', {}, '404 UpstreamNotFound'],
  ['an upstream without a zone', '/hc/http/static', {}, '400 UpstreamStatic'],
  ['an unknown type', '/hc/grpc/api', {}, '404 PathNotFound'],
  ['an unknown field', '/hc/http/api', { intervall: '1s' }, '400 InvalidField /intervall'],
  ['times that are none', '/hc/http/api', { interval: 'x', timeout: -1 }, '400 InvalidField /interval /timeout'],
  ['an interval of nothing', '/hc/http/api', { interval: 0 }, '400 InvalidField /interval'],
  ['no passes', '/hc/http/api', { passes: 0 }, '400 InvalidField /passes'],
  [
    'rules of another form',
    '/hc/http/api',
    { http: { status: '2xx', header: ['ok', 'a b c'], body: 'ok' } },
    '400 InvalidField /http/status /http/header/1 /http/body',
  ],
  ['a URI with a line', '/hc/http/api', { http: { uri: '/a\r\nX: y' } }, '400 InvalidField /http/uri'],
  ['a URI with a blank', '/hc/http/api', { http: { uri: '/a b' } }, '400 InvalidField /http/uri'],
  ['a relative URI', '/hc/http/api', { http: { uri: 'a' } }, '400 InvalidField /http/uri'],
  ['a pattern that is none', '/hc/stcp/api', { stream: { expect: '~ (' } }, '400 InvalidField /stream/expect'],
  ['data for HTTP', '/hc/http/api', { stream: { send: 'x' } }, '400 InvalidField /stream'],
  ['rules of HTTP for TCP', '/hc/stcp/api', { http: {} }, '400 InvalidField /http'],
  ['TLS over UDP', '/hc/sudp/api', { ssl: {} }, '400 InvalidField /ssl'],
  ['a file of the server', '/hc/http/api', { ssl: { trusted_certificate: '/etc/passwd' } }, '400 InvalidField /ssl/trusted_certificate'],
  ['certificates that are none', '/hc/http/api', { ssl: { trusted_certificate: 'data:x' } }, '400 ConfigError'],
  ['verification without certificates', '/hc/http/api', { ssl: { verify: true } }, '400 ConfigError'],
  ['another upstream in the body', '/hc/http/api', { upstream: 'demo' }, '400 InvalidField /upstream'],
] as const)
  test(`rejected: ${what}`, async (t) => {
    const node = await shared();
    const response = await node.call('PUT', path, body);
    const { code, details } = errorOf(response);
    const pointers = code === 'InvalidField' ? details.map(({ pointer }) => pointer) : [];
    t.is([response.status, code, ...pointers].join(' '), expected, response.body);
  });

for (const [lines, message] of [
  ['location / { health_check; }', '"health_check" needs a "proxy_pass" to an upstream with a "zone"'],
  ['location / { proxy_pass http://b; health_check; }', '"health_check" needs a "proxy_pass" to an upstream with a "zone"'],
  ['location / { proxy_pass http://a; health_check match=none; }', 'unknown match "none"'],
  ['location / { proxy_pass http://a; health_check uri=ping; }', 'invalid uri "ping"'],
] as const)
  test(`rejected: ${lines}`, async (t) => {
    const http = 'upstream a { zone a 64k; server 127.0.0.1:1; } upstream b { server 127.0.0.1:1; }';
    const { stderr } = await check(t, `${MODULE} events {} http { ${http} server { listen 127.0.0.1:8080; ${lines} } }`);
    t.true(stderr.includes(message), stderr);
  });
