import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { connectRawTls, get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { sharedNode, startNode, type Node } from './node.js';

const MODULES = {
  main: 'load_module modules/srv_http_dyn_server_module.so;',
  controlMain: 'load_module modules/srv_http_dyn_server_api_module.so;',
};
const shared = sharedNode({ ...MODULES, server: 'listen 127.0.0.1:%%PORT_more%%; server_name file.org; return 200 "file";', workers: 3 });
const web = (node: Node): string => `127.0.0.1:${node.srv.port('web')}`;

async function body(port: number, host: string): Promise<string> {
  return (await get(port, '/', { headers: { host } })).body;
}

test('a server is added under several names, wildcards and expressions too, and is removed', async (t) => {
  const node = await shared();
  const port = node.srv.port('web');
  const place = { addr_port: web(node), server_name: String.raw`b.org *.b.org ~^b\d{1,3}\.net$` };
  const added = await node.call('POST', '/dyn_srv', {
    type: 'add',
    ...place,
    server_body: 'location / { return 200 "dynamic" ; } location = /x { return 200 "x"; }',
  });
  t.is(added.status, 200, added.body);
  for (const host of ['b.org', 'www.b.org', 'b12.net', 'b.org', 'b.org', 'b.org']) t.is(await body(port, host), 'dynamic', host);
  t.is(await body(port, 'else.org'), 'file');
  t.is((await node.call('PATCH', '/dyn_srv', { ...place, server_body: 'return 200 "changed"' })).status, 200);
  t.is(await body(port, 'www.b.org'), 'changed');
  t.is((await node.call('PUT', '/dyn_srv', { type: 'del', addr_port: place.addr_port, server_name: '*.b.org' })).status, 200);
  t.is(await body(port, 'b.org'), 'file');
});

test('a port that nobody has is open in every worker before the response, and closed with its last server', async (t) => {
  const node = await shared();
  const port = await freePort(t);
  const place = { addr_port: `127.0.0.1:${port}`, server_name: 'new.org' };
  t.is((await node.call('POST', '/dyn_srv', { ...place, server_body: 'return 200 "new"' })).status, 200);
  for (const one of await Promise.all(Array.from({ length: 12 }, () => body(port, 'new.org')))) t.is(one, 'new');
  t.is((await node.call('POST', '/dyn_srv', { ...place, server_name: 'second.org', server_body: 'return 200 "second"' })).status, 200);
  t.is((await node.call('PUT', '/dyn_srv', { type: 'del', ...place })).status, 200);
  t.is(await body(port, 'new.org'), 'second');
  t.is((await node.call('PUT', '/dyn_srv', { type: 'del', ...place, server_name: 'second.org' })).status, 200);
  await waitFor('the port to be closed', () =>
    body(port, 'new.org').then(
      () => false,
      () => true,
    ),
  );
});

test('a server with TLS and its certificate', async (t) => {
  const { cert, key } = selfSigned('localhost');
  const node = await startNode(t, {
    ...MODULES,
    main: `api_folders conf; ${MODULES.main}`,
    server: 'return 204;',
    files: { 'conf/c.pem': cert, 'conf/k.pem': key },
  });
  const port = await freePort(t);
  const added = await node.call('POST', '/dyn_srv', {
    addr_port: `127.0.0.1:${port}`,
    server_name: 'localhost',
    listen_option: 'ssl',
    server_body: 'ssl_certificate c.pem; ssl_certificate_key k.pem; return 200 "$scheme"',
  });
  t.is(added.status, 200, added.body);
  const client = await connectRawTls(t, port, { ca: cert, servername: 'localhost' });
  client.send('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  t.truthy(await client.receive(/^HTTP\/1\.1 200 [^]*https/));
});

test('a port that another program has is a 409 with the reason, and changes nothing', async (t) => {
  const node = await shared();
  const other = createServer().listen(0, '127.0.0.1');
  t.teardown(() => other.close());
  await waitFor('the other program', () => other.listening);
  const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const refused = await node.call('POST', '/dyn_srv', { addr_port: address, server_body: 'return 204' });
  t.is(`${refused.status} ${errorOf(refused).code}`, '409 ListenFailed', refused.body);
  t.regex(errorOf(refused).text, /bind\(\) to .* failed \(98: Address already in use\)/);
  t.is(errorOf(await node.call('GET', `/dyn_srv?addr_port=${address}&server_name=`)).code, 'ServerNotFound');
});

for (const [what, method, query, fields, expected] of [
  ['a name that is taken', 'POST', '', { server_name: 'more.org file.org' }, '409 EntryExists'],
  ['an address that is none', 'POST', '', { addr_port: 'nowhere:x' }, '400 InvalidField'],
  ['a wrong option', 'POST', '', { server_name: 'c', listen_option: 'ssl=maybe' }, '400 ConfigError'],
  ['an option that ends the directive', 'POST', '', { server_name: 'c', listen_option: 'ssl;} server{listen 1' }, '400 ConfigError'],
  ['a name that ends the directive', 'POST', '', { server_name: 'c;}server{', server_body: 'foo;' }, '400 ConfigError'],
  ['the end of its block', 'POST', '', { server_name: 'c', server_body: 'return 204; } server { listen 1' }, '400 ConfigError'],
  ['a file', 'POST', '', { server_name: 'c', server_body: 'include /etc/passwd' }, '400 ConfigError'],
  ['another level', 'POST', '', { server_name: 'c', server_body: 'worker_processes 9' }, '400 ConfigError'],
  ['TLS without a certificate', 'POST', '', { addr_port: '127.0.0.1:1', server_name: 'c', listen_option: 'ssl' }, '400 ConfigError'],
  ['one of the file', 'PUT', '', { type: 'del', server_name: 'file.org' }, '409 ServerStatic'],
  ['an unknown one', 'PUT', '', { type: 'del', server_name: 'nobody.org' }, '404 ServerNotFound'],
] as const) {
  test(`rejected: ${what}`, async (t) => {
    const node = await shared();
    const refused = await node.call(method, `/dyn_srv${query}`, { addr_port: web(node), ...fields });
    t.is(`${refused.status} ${errorOf(refused).code}`, expected, refused.body);
    t.is(await body(node.srv.port('web'), 'c'), 'file');
  });
}

const IN_BODY = /use the fields? "(addr_port|server_name)"/;
for (const [what, fields, code, pointer, text] of [
  ['an expression that is none', { server_name: '~(' }, 'InvalidField', '/server_name', /missing closing parenthesis/],
  ['a wildcard alone', { server_name: '*' }, 'InvalidField', '/server_name', /wildcard/],
  ['an address that is none', { addr_port: 'nowhere:x', server_name: 'p' }, 'InvalidField', '/addr_port', /nowhere/],
  ['an option of listen', { server_name: 'p', listen_option: 'ssl=maybe' }, 'ConfigError', '/listen_option', /ssl=maybe/],
  ['listen in the body', { server_name: 'p', server_body: 'listen 127.0.0.1:1' }, 'ConfigError', '/server_body', IN_BODY],
  ['a name in the body', { server_name: 'p', server_body: 'return 204;\n server_name q' }, 'ConfigError', '/server_body', IN_BODY],
] as const) {
  test(`the field that is wrong is named: ${what}`, async (t) => {
    const node = await shared();
    const refused = errorOf(await node.call('POST', '/dyn_srv', { addr_port: web(node), ...fields }));
    t.like(refused, { status: 400, code, details: [{ pointer }] });
    t.regex(refused.text, text);
  });
}

test('a body cannot move a server: PATCH rejects listen and server_name as well, with their places', async (t) => {
  const node = await shared();
  const place = { addr_port: web(node), server_name: 'still.org' };
  t.is((await node.call('POST', '/dyn_srv', { ...place, server_body: 'return 200 still' })).status, 200);
  const refused = await node.call('PATCH', '/dyn_srv', { ...place, server_body: 'return 204;\n  listen 1; server_name file.org' });
  t.like(errorOf(refused), {
    code: 'ConfigError',
    details: [
      { pointer: '/server_body', line: 2, column: 3 },
      { pointer: '/server_body', line: 2, column: 13 },
    ],
  });
  t.is(await body(node.srv.port('web'), 'still.org'), 'still');
  const several = (await node.call('GET', '/dyn_srv')).json as { listens: string[]; server_body: string }[];
  t.like(several[0], { listens: [web(node), `127.0.0.1:${node.srv.port('more')}`], server_body: 'return 200 "file";\n' });
});

test('servers are listed with their text', async (t) => {
  const node = await shared();
  await node.call('POST', '/dyn_srv', { addr_port: web(node), server_name: 'l1.org l2.org', server_body: 'expires 1d; return 204' });
  const list = (await node.call('GET', `/dyn_srv?addr_port=${web(node)}&server_name=l2.org`)).json;
  t.deepEqual(list, [{ listens: [web(node)], server_name: 'l1.org l2.org', is_static: false, server_body: 'expires 1d;\nreturn 204;\n' }]);
  const all = (await node.call('GET', '/dyn_srv')).json as { server_name: string; is_static: boolean }[];
  t.like(all[0], { server_name: 'file.org', is_static: true });
});

test('servers survive kill -9', async (t) => {
  const port = await freePort(t);
  const options = { ...MODULES, server: 'return 204;', allowCrashes: true };
  const node = await startNode(t, options);
  const place = { addr_port: `127.0.0.1:${port}`, server_name: 'a.org' };
  t.is((await node.call('POST', '/dyn_srv', { ...place, server_body: 'return 200 "kept"' })).status, 200);
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.is(await body(port, 'a.org'), 'kept');
  t.like((await again.call('GET', `/dyn_srv?addr_port=127.0.0.1:${port}`)).json, [{ is_static: false }]);
});
