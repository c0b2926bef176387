import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

/** Stands in for authentication: allows, rejects or has nothing to say, as the request's X-Auth tells. */
const AUTH = `
import { httpModule } from 'srv/module/manifest.js';
import { flag } from 'srv/module/args.js';
const ANSWERS = { ok: 0, none: -1, '401': 401, '403': 403 };
class Auth {
  compile({ conf }) {
    return conf.test_auth ? { access: (request) => ANSWERS[request.header('x-auth') ?? 'none'] } : undefined;
  }
}
httpModule({ name: 'test_auth_module', api: 1, directives: { test_auth: { in: ['http', 'server', 'location'], args: flag(), default: 'off' } } })(Auth);
export { Auth };
`;

/** Responds before any content handler. */
const EARLY = `
import { httpModule } from 'srv/module/manifest.js';
import { flag } from 'srv/module/args.js';
class Early {
  compile({ conf }) { return conf.test_early ? { precontent: (request) => request.send(200, 'early') } : undefined; }
}
httpModule({ name: 'test_early_module', api: 1, directives: { test_early: { in: ['location'], args: flag(), default: 'off' } } })(Early);
export { Early };
`;

test('a client that resets its connection right after the request is still known by its address', async (t) => {
  const seen: string[] = [];
  const backend = await httpBackend(t, (request, response) => {
    seen.push(`${request.url} ${String(request.headers['x-real-ip'])}`);
    response.end('ok');
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      proxy_ignore_client_abort on;
      proxy_set_header X-Real-IP $remote_addr;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /open { proxy_pass http://127.0.0.1:${backend.port}; }
        location /closed { deny 127.0.0.0/8; allow all; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  for (let round = 0; round < 30; round++) {
    for (const path of ['/closed', '/open']) {
      const socket = connect(srv.port('web'), '127.0.0.1');
      await once(socket, 'connect');
      socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi`, () => socket.resetAndDestroy());
      await once(socket, 'close');
    }
  }
  t.is((await get(srv.port('web'), '/open')).body, 'ok');
  t.deepEqual(
    seen.filter((line) => line !== '/open 127.0.0.1'),
    [],
  );
});

test('allow and deny: the first rule that fits decides', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('ok'));
  const pass = `proxy_pass http://127.0.0.1:${backend.port};`;
  const rules: Readonly<Record<string, readonly [rules: string, status: number]>> = {
    all: ['allow all;', 200],
    none: ['deny all;', 403],
    address: ['allow 127.0.0.1; deny all;', 200],
    other: ['allow 127.0.0.2; deny all;', 403],
    order: ['deny 127.0.0.1; allow all;', 403],
    network: ['deny 127.0.0.0/8;', 403],
    outside: ['deny 127.0.1.0/24;', 200],
    exact: ['allow 127.0.0.0/31; deny all;', 200],
    everything: ['deny 0.0.0.0/0;', 403],
    six: ['deny ::/0;', 200],
    socket: ['allow unix:; deny all;', 403],
  };
  const srv = await startSrv(
    t,
    `error_log logs/error.log error;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        deny all;
        ${Object.entries(rules)
          .map(([name, [lines]]) => `location /${name} { ${lines} ${pass} }`)
          .join('\n')}
        location /inherits { ${pass} }
        location /outer/ { allow all; ${pass} location /outer/inner { ${pass} } }
      }
    }`,
  );
  for (const [name, [lines, status]] of Object.entries(rules)) t.is((await get(srv.port('web'), `/${name}`)).status, status, lines);
  t.is((await get(srv.port('web'), '/inherits')).status, 403);
  t.is((await get(srv.port('web'), '/outer/inner')).status, 200);
  await srv.waitForLog(/\[error\].* access forbidden by rule, client: 127\.0\.0\.1, server: , request: "GET \/none HTTP\/1\.1"/);
});

test('satisfy all and any, with another module of the access phase', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('ok'));
  const pass = `proxy_pass http://127.0.0.1:${backend.port};`;
  const srv = await startSrv(
    t,
    `load_module modules/test_auth_module.so;
    load_module modules/test_early_module.so;
    events {}
    http {
      test_auth on;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /all/allow { allow all; ${pass} }
        location /all/deny { deny all; ${pass} }
        location /any/allow { satisfy any; allow all; ${pass} }
        location /any/deny { satisfy any; deny all; ${pass} }
        location /any/silent { satisfy any; ${pass} }
        location /any/early { satisfy any; deny all; test_early on; ${pass} }
        location /early { test_early on; ${pass} }
      }
    }`,
    { files: { 'modules/test_auth_module.js': AUTH, 'modules/test_early_module.js': EARLY } },
  );
  const ask = async (path: string, auth: string): Promise<number> =>
    (await get(srv.port('web'), path, { headers: { 'x-auth': auth } })).status;
  const table: Readonly<Record<string, Readonly<Record<string, number>>>> = {
    '/all/allow': { ok: 200, none: 200, '401': 401, '403': 403 },
    '/all/deny': { ok: 403, none: 403 },
    '/any/allow': { ok: 200, none: 200, '401': 200, '403': 200 },
    '/any/deny': { ok: 200, none: 403, '401': 401, '403': 403 },
    '/any/silent': { ok: 200, none: 200, '401': 401, '403': 403 },
    '/any/early': { ok: 200, none: 403, '401': 401, '403': 403 },
    '/early': { ok: 200, '401': 401 },
  };
  for (const [path, answers] of Object.entries(table)) {
    for (const [auth, status] of Object.entries(answers)) t.is(await ask(path, auth), status, `${path} ${auth}`);
  }
});

test('unix: is about clients of unix sockets', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('ok'));
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen unix:%%PREFIX%%/s.sock;
        location /allow { allow unix:; deny all; proxy_pass http://127.0.0.1:${backend.port}; }
        location /deny { deny unix:; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  const ask = (path: string): Promise<string> => exchange(t, srv.path('s.sock'), `GET ${path} HTTP/1.0\r\n\r\n`);
  t.regex(await ask('/allow'), /^HTTP\/1\.1 200 /);
  t.regex(await ask('/deny'), /^HTTP\/1\.1 403 /);
});
