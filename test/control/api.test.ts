import test from 'ava';
import { check } from '../harness/check.js';
import { connectRaw, exchange, get, json } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { sharedNode, upstreams } from './node.js';

const shared = sharedNode({
  http: `${upstreams('demo', 'limited')} upstream "a b" { zone ab 64k; server 127.0.0.1:1; }`,
  control: `
    server { listen 127.0.0.1:%%PORT_named%%; server_name api.corp; location /api { dyn_module_api; } }
    server { listen 127.0.0.1:%%PORT_other%%; location /x { return 204; } }
    server { listen 127.0.0.1:%%PORT_limited%%; location /api { dyn_module_api;
      api_limit_except upstream_api GET { deny all; } api_limit_except kv POST { allow 127.0.0.1; deny all; } } }`,
});

test('calls that are wrong in form get the one error body over HTTP as well', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const members = '/api/v1/upstream_api/http/upstreams/demo/servers/';
  const post = (body: string | Buffer, type = 'application/json') =>
    get(port, members, { method: 'POST', headers: { 'content-type': type }, body });
  const codes: [string, Promise<{ status: number; body: string }>][] = [
    ['400 JsonError', post('{"server":')],
    ['400 JsonError', post('')],
    ['415 UnsupportedMediaType', post('server=1.2.3.4', 'application/x-www-form-urlencoded')],
    ['400 InvalidField', post('{"server":5}')],
    ['404 PathNotFound', get(port, '/api/v1/none')],
    ['404 PathNotFound', get(port, '/api')],
    ['405 MethodNotAllowed', get(port, members, { method: 'PATCH' })],
    ['413 BodyTooLarge', post(Buffer.alloc(5 * 1024 * 1024 + 1, 32))],
  ];
  for (const [expected, call] of codes) {
    const answer = await call;
    const { status, code } = errorOf(answer);
    t.is(`${answer.status} ${code}`, expected);
    t.is(status, answer.status);
    const { request_id, href } = JSON.parse(answer.body) as { request_id: string; href: string };
    t.regex(request_id, /^[0-9a-f]{32}$/);
    t.regex(href, /^\/api/);
    if (status !== 405) await node.srv.waitForLog(new RegExp(`${code}, request_id: ${request_id}`), 'logs/ctrl.log');
  }
  t.is((await node.members()).length, 2);
});

test('a body that is too long ends the connection', async (t) => {
  const node = await shared();
  const client = await connectRaw(t, node.srv.port('api'));
  client.send('POST /api/v1/kv HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n{');
  t.truthy(await client.receive(/^HTTP\/1\.1 413 [^]*Connection: close\r\n[^]*BodyTooLarge/));
});

test('what is whole in JSON and no whole character is rejected', async (t) => {
  const node = await shared();
  const answer = await get(node.srv.port('api'), '/api/v1/kv', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: String.raw`{"key":"a\ud800","value":"\ud83d\ude00"}`,
  });
  t.is(answer.status, 400);
  t.deepEqual(errorOf(answer).details, [{ pointer: '/key', message: 'must be valid Unicode' }]);
});

test('HEAD and OPTIONS', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const path = '/api/v1/upstream_api/http/upstreams/demo/servers/';
  const whole = await get(port, path);
  const head = await get(port, path, { method: 'HEAD' });
  t.is(head.status, 200);
  t.is(head.body, '');
  t.is(head.headers['content-length'], whole.headers['content-length']);
  t.is(head.headers['etag'], whole.headers['etag']);
  const options = await get(port, path, { method: 'OPTIONS' });
  t.is(options.status, 204);
  t.is(options.headers['allow'], 'GET, HEAD, POST, PUT, OPTIONS');
});

test('a path with encoded characters names what they mean', async (t) => {
  const node = await shared();
  const group = await node.upstreams('GET', '/a%20b/');
  t.like(group.json, { name: 'a b' });
  const added = await node.upstreams('POST', '/a%20b/servers/', { server: '127.0.0.1:2' });
  t.is(added.headers['location'], '/api/v1/upstream_api/http/upstreams/a%20b/servers/1');
});

test('web pages of other sites and foreign hosts are kept out', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const path = '/api/v1/upstream_api/http/upstreams/';
  t.is((await get(port, path, { headers: { host: `localhost:${port}` } })).status, 200);
  const foreign = await get(port, path, { headers: { host: 'evil.example' } });
  t.is(`${foreign.status} ${errorOf(foreign).code}`, '403 ForbiddenHost');
  const page = await get(port, path, { headers: { origin: 'http://evil.example' } });
  t.is(`${page.status} ${errorOf(page).code}`, '403 ForbiddenOrigin');
  t.is((await get(port, path, { headers: { origin: `http://127.0.0.1:${port}` } })).status, 200);
  t.is((await get(node.srv.port('named'), path, { headers: { host: 'api.corp' } })).status, 200);
  t.regex(await exchange(t, port, `GET ${path} HTTP/1.0\r\n\r\n`), /^HTTP\/1.1 200 /);
});

test('api_limit_except restricts methods of one module by address', async (t) => {
  const node = await shared();
  const call = (method: string, path: string, body?: unknown) => json(node.srv.port('limited'), method, `/api/v1${path}`, body);
  const servers = '/upstream_api/http/upstreams/limited/servers/';
  t.is((await call('GET', '/upstream_api/http/upstreams/')).status, 200);
  const refused = await call('POST', servers, { server: '10.0.0.1' });
  t.is(`${refused.status} ${errorOf(refused).code}`, '403 AccessDenied');
  t.is((await call('DELETE', `${servers}0`)).status, 403);
  t.is((await call('POST', '/kv', { key: 'a', value: 'b' })).status, 200);
  t.is((await call('DELETE', '/kv?key=a')).status, 200);
  t.is((await node.members('limited')).length, 2);
});

test.serial('errors outside of all locations have the form of the API in servers that have it, also after a reload', async (t) => {
  const node = await shared();
  const typeOfMissing = async (): Promise<string | undefined> =>
    (await get(node.srv.port('other'), '/nowhere', { headers: { host: 'localhost' } })).headers['content-type'];
  const before = node.srv.read('conf/ctrl.conf');
  const reload = async (location: string): Promise<void> => {
    await node.srv.configure(before.replace('location /x { return 204; }', `$& ${location}`), 'conf/ctrl.conf');
    node.srv.signal('SIGHUP');
  };
  t.is(await typeOfMissing(), 'text/html');
  await reload('location /other { dyn_module_api; }');
  await waitFor('the API', async () => (await get(node.srv.port('other'), '/other/v1/none')).headers['content-type']?.includes('json'));
  t.is(await typeOfMissing(), 'application/json; charset=utf-8');
  await reload('location /other { return 204; }');
  await waitFor('no API', async () => (await get(node.srv.port('other'), '/other')).status === 204);
  t.is(await typeOfMissing(), 'text/html');
});

test('errors in the configuration of the API are reported at their lines', async (t) => {
  const errorsOf = async (location: string): Promise<string> => {
    const ctrl = `load_module modules/srv_http_sendmsg_module.so;\nevents {} http { server { listen 127.0.0.1:%%PORT_api%%;\n${location}\n} }`;
    const files = { 'conf/broker.conf': '', 'conf/ctrl.conf': ctrl };
    const conf = 'helper broker modules/srv_helper_broker_module.so conf/broker.conf;'.concat(
      'helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf; events {}',
    );
    return (await check(t, conf, files)).stderr;
  };
  const cases: [location: string, error: RegExp][] = [
    ['location /api { dyn_module_api;\napi_limit_except kv GET { deny all; } }', /test is successful/],
    ['location /api { dyn_module_api;\napi_limit_except kvs GET { deny all; } }', /unknown module key "kvs" in .*ctrl.conf:4/],
    ['location /api { dyn_module_api;\napi_limit_except kv FETCH { deny all; } }', /invalid method "FETCH" in .*ctrl.conf:4/],
    ['location /api { dyn_module_api;\napi_limit_except kv GET {\ndeny al; } }', /invalid parameter "al" in .*ctrl.conf:5/],
    ['location /api { dyn_module_api;\napi_limit_except kv GET {\ndenny all; } }', /unknown directive "denny" in .*ctrl.conf:5/],
    [
      'location /kv { dyn_sendmsg_kv;\napi_limit_except kv GET { deny all; } }',
      /"api_limit_except" has no effect without "dyn_module_api" in .*ctrl.conf:4/,
    ],
    ['location /x {\napi_limit_except kv GET { deny all; } }', /has no effect without "dyn_module_api" in .*ctrl.conf:4/],
    ['location ~ /api { dyn_module_api; }', /the API requires a prefix location in .*ctrl.conf:3/],
  ];
  for (const [location, error] of cases) t.regex(await errorsOf(location), error);
});

test('the data plane does not have the directives of the API', async (t) => {
  const conf = 'events {} http { server { listen 127.0.0.1:0; location /api { dyn_module_api; } } }';
  t.regex((await check(t, conf)).stderr, /unknown directive "dyn_module_api"/);
});
