/** Which tunnels srv_http_proxy_connect_module opens, and for whom. */
import { networkInterfaces } from 'node:os';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { exchange, get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { connectTo, startProxies, statusOf, tunnel } from './proxy-connect-site.js';

const site = shared(startProxies);

test('only the authority of a server is a target', async (t) => {
  const { srv, echo } = await site();
  const port = srv.port('open');
  for (const target of [
    'a.example',
    'a.example:',
    'a.example:0',
    'a.example:65536',
    'a.example:http',
    '/',
    '*',
    'http://a.example:80/',
    'u@a.example:80',
  ])
    t.is(await statusOf(t, port, target), 400, target);
  for (const target of ['[v1.x]:80', '::1:80', '[127.0.0.1]:80', '[fe80::1%lo]:80', 'a..example:80', "a'b.example:80", '%61.example:80'])
    t.is(await statusOf(t, port, target), 400, target);
  t.is(await statusOf(t, port, `127.0.0.1:${echo.port}`, 'Content-Length: 5\r\n'), 400, 'a body');
  t.is(await statusOf(t, port, `127.0.0.1:${echo.port}`, 'Transfer-Encoding: chunked\r\n'), 400);
  t.is(await statusOf(t, srv.port('plain'), 'a.example:443'), 405, 'not a forward proxy');
});

test('only ports that are allowed', async (t) => {
  const { srv, echo } = await site();
  const byDefault = srv.port('default');
  t.is(await statusOf(t, byDefault, `127.0.0.1:${echo.port}`), 405, 'the page of the 403 is not passed on');
  await srv.waitForLog(new RegExp(`\\[error\\] .*proxy_connect: port ${echo.port} is not allowed, client: 127.0.0.1`));
  t.is(await statusOf(t, byDefault, 'no-such.invalid:443'), 502, 'the port is allowed');
  t.is(await statusOf(t, byDefault, 'no-such.invalid:563'), 502);
  await srv.waitForLog(/\[error\] .*proxy_connect: no-such\.invalid could not be resolved \(3: Host not found\)/);
  t.is(await statusOf(t, srv.port('closed'), 'no-such.invalid:1'), 502);
});

test('addresses of this machine, private and special networks are closed, whatever name they have', async (t) => {
  const { srv, echo } = await site();
  const port = srv.port('closed');
  const hosts = [
    '127.0.0.1',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'x.localhost',
    '0.0.0.0',
    '169.254.169.254',
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
  ];
  const literals = [
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fd00::1',
    'fe80::1',
    'ff02::1',
  ];
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  hosts.push(...own.filter(({ family }) => family === 'IPv4').map(({ address }) => address));
  for (const host of [...hosts, ...literals.map((literal) => `[${literal}]`)])
    t.is(await statusOf(t, port, `${host}:${echo.port}`), 403, host);
  await srv.waitForLog(/\[error\] .*proxy_connect: destination 169\.254\.169\.254 is not allowed/);
  t.is(await statusOf(t, port, `127.0.0.9:${echo.port}`), 403, 'the first rule that fits');
  // Nothing listens there: it was tried.
  t.is(await statusOf(t, port, '127.0.0.10:1'), 502);
  t.is(await statusOf(t, port, '[::ffff:127.0.0.10]:1'), 502);
  const allowed = await tunnel(t, srv.port('open'), `[::ffff:127.0.0.1]:${echo.port}`, 'x');
  await allowed.receive(/x$/);
});

test('what follows a CONNECT that is rejected is not a request', async (t) => {
  const { srv } = await site();
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
  for (const [name, target] of [
    ['closed', '127.0.0.1:80'],
    ['plain', 'a.example:443'],
    ['private', 'a.example:443'],
  ] as const) {
    const response = await exchange(t, srv.port(name), connectTo(target) + smuggled);
    t.regex(response, /^HTTP\/1\.1 4\d\d [^]*\r\nConnection: close\r\n/);
    t.notRegex(response, /a request|plain$/);
    t.is(response.match(/HTTP\/1\.1/g)?.length, 1);
  }
  t.regex(await exchange(t, srv.port('default'), connectTo('no-such.invalid:443')), /^HTTP\/1\.1 502 [^]*no such server$/);
});

test('credentials are those for a proxy', async (t) => {
  const { srv, echo } = await site();
  const target = `127.0.0.1:${echo.port}`;
  const right = `Basic ${Buffer.from('user:secret').toString('base64')}`;
  const asked = await exchange(t, srv.port('private'), connectTo(target));
  t.regex(asked, /^HTTP\/1\.1 407 Proxy Authentication Required\r\n[^]*\r\nProxy-Authenticate: Basic realm="proxy", charset="UTF-8"\r\n/);
  t.notRegex(asked, /WWW-Authenticate/);
  t.is(await statusOf(t, srv.port('private'), target, `Authorization: ${right}\r\n`), 407, 'those for a server');
  t.is(await statusOf(t, srv.port('private'), target, 'Proxy-Authorization: Basic dXNlcjp4\r\n'), 407);
  const connection = await tunnel(t, srv.port('private'), target, 'x', `Proxy-Authorization: ${right}\r\n`);
  await connection.receive(/x$/);
  connection.socket.end();
  await srv.waitForLog(/^200 user 127\.0\.0\.1 /m, 'logs/access.log');

  const origin = await httpBackend(t, (request, response) => response.end(JSON.stringify(request.headers)));
  const url = `http://127.0.0.1:${origin.port}/x`;
  t.is((await get(srv.port('private'), url)).status, 407, 'a plain request to a proxy');
  const passed = await get(srv.port('private'), url, { headers: { 'proxy-authorization': right } });
  t.is(passed.status, 200);
  t.is(origin.requests[0]?.url, '/x');
  t.notRegex(passed.body, /proxy-authorization/, 'they are not for the server');
  t.is((await get(srv.port('private'), '/')).status, 401, 'a request to this server itself');
});

test('proxy_connect_address takes the place of the host', async (t) => {
  const { srv } = await site();
  const connection = await tunnel(t, srv.port('fixed'), 'no-such.invalid:443', 'x');
  await connection.receive(/x$/);
  t.is(await statusOf(t, srv.port('fixed'), 'a.example:80'), 403, 'the port is that of the client');
});

test('what cannot be meant is a configuration error', async (t) => {
  const errorsOf = async (lines: string): Promise<string> => {
    const { code, stderr } = await check(
      t,
      `load_module modules/srv_http_proxy_connect_module.so; events {} http { server { listen 127.0.0.1:%%PORT_web%%; proxy_connect; ${lines} } }`,
    );
    return code === 0 ? '' : stderr;
  };
  t.is(
    await errorsOf('proxy_connect_allow 443 8000-8999; proxy_connect_send_timeout 1s; proxy_connect_destination deny 10.0.0.0/8 all;'),
    '',
  );
  t.regex(await errorsOf('proxy_connect_allow 0;'), /invalid port "0"/);
  t.regex(await errorsOf('proxy_connect_allow 90-80;'), /invalid port "90-80"/);
  t.regex(await errorsOf('proxy_connect_allow 65536;'), /invalid port "65536"/);
  t.regex(await errorsOf('proxy_connect_destination allow;'), /invalid number of arguments in "proxy_connect_destination" directive/);
  t.regex(await errorsOf('proxy_connect_destination permit all;'), /invalid value "permit"/);
  t.regex(await errorsOf('proxy_connect_destination allow unix:;'), /invalid parameter "unix:"/);
  t.regex(await errorsOf('proxy_connect_destination allow a.example;'), /invalid parameter "a.example"/);
  t.regex(await errorsOf('proxy_connect_bind 10.0.0.1 transparent;'), /"transparent" is not supported by this version/);
  t.regex(await errorsOf('proxy_connect_address a.example;'), /invalid address "a.example"/);
  t.regex(await errorsOf('proxy_connect_response "HTTP/1.1 404 No\\r\\n\\r\\n";'), /invalid response to CONNECT/);
  t.regex(await errorsOf('proxy_connect_read_timeout 1s; proxy_connect_data_timeout 1s;'), /is the same as "proxy_connect_data_timeout"/);
});
