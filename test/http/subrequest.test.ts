import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv, type Srv } from '../harness/srv.js';

/** `sub /uri limit;` responds with what the subrequest got, `nest` makes subrequests of its own location without end. */
const MODULE = plugin('test_sub_module', {
  manifest: `directives: {
    sub: directive({ in: ['location'], args: { uri: text(), limit: text() }, inherit: 'none' }),
    nest: directive({ in: ['location'], inherit: 'none' }),
  }`,
  body: `
  compile(scope) {
    if (scope.own('nest')) return { content: async (request) => {
      try {
        const inner = await request.subrequest(request.uri);
        return request.send(200, inner.body);
      } catch (error) { return request.send(200, error.message); }
    } };
    if (!scope.own('sub')) return undefined;
    const { uri, limit } = scope.conf.sub;
    return { content: async (request) => {
      try {
        const { status, body, request: sub } = await request.subrequest(uri, { args: 'a=b', limit: Number(limit) });
        return request.send(200, [status, body.toString(), sub.variable('upstream_http_x_kind'), sub.parent === request].join(' '));
      } catch (error) { return request.send(200, 'rejected: ' + error.message); }
    } };
  }
`,
});

function start(t: ExecutionContext, port: number): Promise<Srv> {
  return startSrv(
    t,
    `load_module modules/test_sub_module.so; error_log logs/error.log info; events {}
    http { log_format line "$request_method $uri"; access_log logs/access.log line;
      server { listen 127.0.0.1:%%PORT_web%%;
        location /inner { internal; deny all; proxy_pass http://127.0.0.1:${port}; }
        location /page { sub /inner 1000; }
        location /short { sub /inner 4; }
        location /discard { sub /inner 0; }
        location /missing { sub /nowhere 1000; }
        location /nest { nest; }
    } }`,
    { files: { 'modules/test_sub_module.js': MODULE } },
  );
}

test('a subrequest reaches internal locations with GET and no body, and gives status, body and variables', async (t) => {
  const backend = await httpBackend(t, (request, response) =>
    response.setHeader('X-Kind', 'inner').end(`${request.method} ${request.url} ${request.headers['content-length'] ?? 'no'} body`),
  );
  const srv = await start(t, backend.port);
  const port = srv.port('web');
  t.is((await get(port, '/page', { method: 'POST', body: 'form' })).body, '200 GET /inner?a=b no body inner true');
  t.is((await get(port, '/discard')).body, '200  inner true', 'a limit of 0 discards the body');
  t.regex((await get(port, '/missing')).body, /^404 /);
});

test('a response that is longer than the limit rejects', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('12345'));
  const srv = await start(t, backend.port);
  t.is((await get(srv.port('web'), '/short')).body, 'rejected: the response of subrequest "/inner" is longer than 4 bytes');
  t.is((await get(srv.port('web'), '/page')).status, 200, 'the server is well after that');
});

test('subrequests are not in the access log', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('text'));
  const srv = await start(t, backend.port);
  await get(srv.port('web'), '/page');
  await srv.waitForLog(/GET \/page/, 'logs/access.log');
  t.is(srv.read('logs/access.log'), 'GET /page\n');
});

test('subrequests of subrequests end at a depth of 50', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end());
  const srv = await start(t, backend.port);
  t.is((await get(srv.port('web'), '/nest')).body, 'subrequests cycle while processing "/nest"');
});
