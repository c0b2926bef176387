import test from 'ava';
import { connectRaw, exchange, get } from '../harness/client.js';
import { errorOf } from './api-client.js';
import { sharedNode, upstreams, type Node } from './node.js';

const shared = sharedNode({
  http: `${upstreams('demo', 'bad', 'minimal', 'größe', 'a/b')} upstream ../demo { zone d 64k; server 127.0.0.1:1; }`,
  controlMain: 'load_module modules/srv_http_dyn_upstream_api_module.so; load_module modules/srv_http_dyn_header_module.so;',
  workers: 1,
});
const guarded = sharedNode({
  api: 'api_limit_except kv GET { deny all; } api_limit_except openapi.json POST { deny all; }',
  workers: 1,
});
/** Locations of its own beside the one of the API, and short buffers. */
const strict = sharedNode({
  http: ['b', 'a', 'c'].map((name) => `upstream ${name} { zone ${name} 64k; server 127.0.0.1:1; }`).join(' '),
  server: 'return 204;',
  api: `location /api/closed { deny all; dyn_module_api; } location /api/v1/kv { dyn_module_api; deny all; }
    rewrite ^/api/old/(.*)$ /api/v1/$1 break;`,
  control: 'client_header_timeout 3s; large_client_header_buffers 4 1k; client_header_buffer_size 1k;',
  workers: 1,
});
const SERVERS = '/api/v1/upstream_api/http/upstreams/demo/servers';

/** Head and error of the response to a request that no HTTP library sends. */
async function errorTo(t: Parameters<typeof exchange>[0], node: Node, request: string) {
  const received = await exchange(t, node.srv.port('api'), request.replaceAll('\n', '\r\n'));
  const [head = '', body = ''] = received.split('\r\n\r\n', 2);
  return { head, error: errorOf({ body }) };
}

test('a path that only begins like the location is not the API', async (t) => {
  const node = await guarded();
  const port = node.srv.port('api');
  const set = (path: string) =>
    get(port, path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"key":"a","value":"b"}' });
  for (const path of ['/api/v1/kv', '/api/v1/kv/', '/api//v1/kv', '/api/v1/%6bv']) {
    const denied = await set(path);
    t.is(`${denied.status} ${errorOf(denied).code}`, '403 AccessDenied', path);
  }
  for (const path of ['/apiv1/kv', '/apix/v1/kv', '/api%2fv1/kv', '/api/v1%2Fkv', '/api.v1/kv', '/api/./v1/kv', '/api/v1//kv']) {
    const missing = await set(path);
    t.is(`${missing.status} ${errorOf(missing).code}`, '404 PathNotFound', path);
  }
  t.is((await get(port, '/api/v1/kv?key=a')).status, 404);
});

test('the rules of a module hold for all of its paths, and for the document', async (t) => {
  const node = await guarded();
  t.is((await node.call('PUT', '/kv/keys/a', { value: '' })).status, 403);
  t.is((await node.call('DELETE', '/kv/keys/a')).status, 403);
  t.is((await node.call('OPTIONS', '/kv')).status, 403);
  t.is((await node.call('GET', '/kv/keys/a')).status, 404);
  t.is((await node.call('GET', '/openapi.json')).status, 403);
  t.is((await node.upstreams('POST', '/demo/servers', { server: '10.0.0.1' })).status, 201);
});

test('errors of the server itself have the error body of the API', async (t) => {
  const node = await strict();
  const rejected: [request: string, status: number, code: string][] = [
    ['GET /elsewhere HTTP/1.1\nHost: localhost\nConnection: close\n\n', 404, 'PathNotFound'],
    ['GET /api/%zz HTTP/1.1\nHost: localhost\nConnection: close\n\n', 400, 'BadRequest'],
    ['GET /api/v1/kv HTTP/1.1\nHost: a b\n\n', 400, 'BadRequest'],
    [`GET /api/${'x'.repeat(2000)} HTTP/1.1\nHost: localhost\n\n`, 414, 'UriTooLong'],
    [`GET /api/v1/kv HTTP/1.1\nHost: localhost\nX: ${'x'.repeat(2000)}\n\n`, 400, 'BadRequest'],
    ['GET /api/closed HTTP/1.1\nHost: localhost\nConnection: close\n\n', 403, 'AccessDenied'],
  ];
  for (const [request, status, code] of rejected) {
    const { head, error } = await errorTo(t, node, request);
    t.regex(head, new RegExp(`^HTTP/1.1 ${status} [^]*Content-Type: application/json; charset=utf-8\r\n`), request.slice(0, 60));
    t.like(error, { status, code }, request.slice(0, 60));
  }
});

test('TRACE is not allowed, and Allow names the methods of the path', async (t) => {
  const node = await shared();
  const trace = await errorTo(t, node, `TRACE ${SERVERS}/ HTTP/1.1\nHost: localhost\nConnection: close\n\n`);
  t.like(trace.error, { status: 405, code: 'MethodNotAllowed' });
  t.regex(trace.head, /^HTTP\/1.1 405 [^]*Allow: GET, HEAD, POST, PUT, OPTIONS$/);
  const elsewhere = await errorTo(t, node, 'TRACE / HTTP/1.1\nHost: localhost\nConnection: close\n\n');
  t.regex(elsewhere.head, /Allow: /);
});

test('responses name their character set, and href is the path as it was sent', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  t.is((await get(port, SERVERS)).headers['content-type'], 'application/json; charset=utf-8');
  await node.call('POST', '/kv', { key: 'color', value: 'grün' });
  t.is((await get(port, '/api/v1/kv?key=color')).headers['content-type'], 'text/plain; charset=utf-8');
  const missing = await get(port, '/api//v1/kv/keys/gr%c3%bcn%2Fx/?fields=key');
  t.is(missing.headers['content-type'], 'application/json; charset=utf-8');
  t.like(JSON.parse(missing.body), { error: { code: 'KeyNotFound' }, href: '/api//v1/kv/keys/gr%c3%bcn%2Fx/' });
});

test('names may have any character, also a slash', async (t) => {
  const node = await shared();
  t.like((await node.upstreams('GET', '/gr%C3%B6%C3%9Fe')).json, { name: 'größe' });
  t.like((await node.upstreams('GET', '/a%2Fb')).json, { name: 'a/b' });
  t.like((await node.upstreams('GET', '/..%2Fdemo')).json, { name: '../demo' });
  const added = await node.upstreams('POST', '/gr%C3%B6%C3%9Fe/servers', { server: '10.0.0.1' });
  t.is(added.headers['location'], '/api/v1/upstream_api/http/upstreams/gr%C3%B6%C3%9Fe/servers/2');
  t.is((await get(node.srv.port('api'), String(added.headers['location']))).status, 200);
  t.is((await node.upstreams('DELETE', '/a%2fb/servers/127.0.0.1:1')).status, 200);
  t.is(errorOf(await node.upstreams('GET', '/a/b')).code, 'PathNotFound');
  t.is(errorOf(await node.upstreams('GET', '/%ff')).code, 'PathNotFound');

  for (const key of ['a/b', 'grün', '%', 'a b+c', '?x=1', '/p3', 'p1/../q1', 'x/../../../dyn_ups', 'a//b', './a/', '/', '\ufeffx', '%2F']) {
    const path = `/kv/keys/${encodeURIComponent(key)}`;
    t.is((await node.call('PUT', path, { value: key })).status, 200, key);
    t.like((await node.call('GET', path)).json, { key, value: key });
    t.is((await get(node.srv.port('api'), `/api/v1/kv?key=${encodeURIComponent(key)}`)).body, key);
    t.is((await node.call('DELETE', path)).status, 200, key);
  }
});

test('dots in a path never make another path of it, in whatever location', async (t) => {
  const node = await strict();
  const port = node.srv.port('api');
  const statusOf = async (path: string): Promise<string> => {
    const { status, body } = await get(port, `/api/${path}`);
    return `${status} ${errorOf({ body }).code}`;
  };
  for (const path of [
    'v1/upstream_api/../openapi.json',
    'v1/upstream_api/%2e%2E/openapi.json',
    'v1/./openapi.json',
    'v1/x%2F../openapi.json',
  ])
    t.is(await statusOf(path), '404 PathNotFound', path);
  t.is(await statusOf('v1/kv/keys/a'), '403 AccessDenied');
  t.is(await statusOf('v1/kv/keys/..%2F..%2Fx'), '404 PathNotFound', 'the location of another path has other rules');
  t.is(await statusOf('v1/x%2F..%2Fkv/keys/a'), '403 AccessDenied', 'the location that is denied');
  t.is(await statusOf('v1/kv/keys/..%2F..%2F..%2F..%2F..%2F..%2Fx'), '400 BadRequest');
  t.is(await statusOf('v1/kv/keys/..%2F..%2F..%2F..%2Fx'), '404 PathNotFound');
  t.is((await get(port, '/api/old/openapi.json')).status, 200, 'a rewrite chooses the path');
  t.is(
    (await exchange(t, port, 'GET http://localhost/api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).slice(
      9,
      12,
    ),
    '200',
  );
});

test('an object with a duplicate key is rejected', async (t) => {
  const node = await shared();
  const post = (body: string) =>
    get(node.srv.port('api'), '/api/v1/kv', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const twice = await post('{"key":"a",\n "value":"x","key":"b"}');
  t.is(twice.status, 400);
  t.like(errorOf(twice), {
    code: 'JsonError',
    text: 'duplicate key "key" in line 2, column 14',
    details: [{ position: 25, line: 2, column: 14 }],
  });
  t.is((await post(String.raw`{"key":"a","value":"x","k\u0065y":"b"}`)).status, 400);
  t.is((await post(String.raw`{"key":"\"key\":","value":"\"key\":\\"}`)).status, 200);
});

test('errors of the schema and of addresses are reported together', async (t) => {
  const node = await shared();
  const errors = async (method: string, path: string, body: unknown) => {
    const { code, details } = errorOf(await node.upstreams(method, path, body));
    return [code, ...details.map(({ pointer }) => pointer)].toSorted((a = '', b = '') => (a < b ? -1 : 1));
  };
  t.deepEqual(await errors('POST', '/bad/servers', { server: '300.1.1.1', weight: 0, fail_timeout: '99y' }), [
    '/fail_timeout',
    '/server',
    '/weight',
    'InvalidField',
  ]);
  t.deepEqual(await errors('POST', '/bad/servers', { server: '300.1.1.1' }), ['/server', 'UpstreamBadAddress']);
  t.deepEqual(await errors('PUT', '/bad/servers', [{ server: '1.2.3.4:0' }, { weight: 'x', server: '10.0.0.1' }, { server: ':1' }]), [
    '/0/server',
    '/1/weight',
    '/2/server',
    'InvalidField',
  ]);
});

test('Prefer: return=minimal leaves the body out of the response to a write', async (t) => {
  const node = await shared();
  const minimal = { prefer: 'respond-async, return=minimal' };
  const added = await node.upstreams('POST', '/minimal/servers', { server: '10.0.0.1' }, minimal);
  t.is(`${added.status} ${added.body}`, '204 ');
  t.is(added.headers['location'], '/api/v1/upstream_api/http/upstreams/minimal/servers/2');
  t.is(added.headers['preference-applied'], 'return=minimal');
  const put = await node.upstreams('PUT', '/minimal/servers', await node.members('minimal'), minimal);
  t.is(put.status, 204);
  t.is(put.headers['etag'], (await node.upstreams('GET', '/minimal/servers')).headers['etag']);
  t.is((await node.upstreams('DELETE', '/minimal/servers/2', undefined, minimal)).status, 204);
  t.is((await node.members('minimal')).length, 2);
  // A dry run is asked for its body, and an error always has one.
  t.is((await node.upstreams('DELETE', '/minimal/servers/0?dry_run=1', undefined, minimal)).status, 200);
  t.is(errorOf(await node.upstreams('DELETE', '/minimal/servers/9', undefined, minimal)).status, 404);
  t.is((await node.upstreams('GET', '/minimal/servers', undefined, minimal)).status, 200);
});

test('If-None-Match compares weakly, If-Match strongly', async (t) => {
  const node = await shared();
  const weak = `W/${String((await node.call('POST', '/kv', { key: 'a', value: '1' })).headers['etag'])}`;
  t.is((await node.call('POST', '/kv', { key: 'a', value: '2' }, { 'if-none-match': `"x", ${weak}` })).status, 412);
  t.is((await node.call('POST', '/kv', { key: 'a', value: '2' }, { 'if-match': weak })).status, 412);
  t.is((await node.call('POST', '/kv', { key: 'a', value: '2' }, { 'if-none-match': 'W/"x"' })).status, 200);
});

test.serial('a data plane that is away is a 503 with Retry-After', async (t) => {
  const node = await strict();
  node.srv.signal('SIGSTOP');
  try {
    const away = await node.upstreams('GET', '/');
    t.is(`${away.status} ${errorOf(away).code}`, '503 DataPlaneUnavailable');
    t.regex(String(away.headers['retry-after']), /^\d+$/);
  } finally {
    node.srv.signal('SIGCONT');
  }
  await node.ready();
});

test('a call that the data plane has no module for is answered with its load_module line', async (t) => {
  const node = await shared();
  for (const [path, module] of [
    ['/dyn_ups', 'srv_http_dyn_upstream_module'],
    ['/config/http_dyn_header', 'srv_http_dyn_header_module'],
  ] as const) {
    const response = await node.call('GET', path);
    const { code, text, details } = errorOf(response);
    t.is(`${response.status} ${code}`, '501 NotLoaded');
    t.regex(text, new RegExp(`add "load_module modules/${module}\\.so;" to its configuration and reload$`));
    t.deepEqual(details, [{ module, line: `load_module modules/${module}.so;` }] as never);
  }
});

test('the statistics of an upstream are reset by POST as well', async (t) => {
  const node = await shared();
  await node.web();
  const requests = async () =>
    ((await node.upstreams('GET', '/demo')).json as { peers: { requests: number }[] }).peers.reduce((sum, peer) => sum + peer.requests, 0);
  t.true((await requests()) > 0);
  t.is((await node.upstreams('POST', '/demo/reset')).status, 204);
  t.is(await requests(), 0);
});

test('upstreams are listed in pages', async (t) => {
  const node = await strict();
  const names = async (query: string) => ((await node.upstreams('GET', `/${query}`)).json as { name: string }[]).map(({ name }) => name);
  t.deepEqual(await names(''), ['b', 'a', 'c']);
  const first = await node.upstreams('GET', '?limit=2');
  t.is(first.headers['link'], '</api/v1/upstream_api/http/upstreams?limit=2&after=b>; rel="next"');
  t.deepEqual(await names('?limit=2&after=b'), ['c']);
});

test('a body that is too long for a location of the API ends the connection', async (t) => {
  const node = await shared();
  const client = await connectRaw(t, node.srv.port('api'));
  client.send(
    `PUT ${SERVERS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${32 * 1024 ** 2 + 1}\r\n\r\n[`,
  );
  t.truthy(await client.receive(/^HTTP\/1\.1 413 [^]*Connection: close\r\n[^]*BodyTooLarge/));
});
