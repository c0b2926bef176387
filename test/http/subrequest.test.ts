import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

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

/** `make KIND;` responds with what a subrequest of this kind got. */
const MAKER = plugin('test_make_module', {
  manifest: "directives: { make: directive({ in: ['location'], args: text(), inherit: 'none' }) }",
  body: `
  compile(scope) {
    const kind = scope.conf.make;
    if (kind === undefined) return undefined;
    const pieces = async function* () { for (let at = 0; at < 300; at++) yield Buffer.alloc(1000, 'p'); };
    const failing = async function* () { yield Buffer.alloc(10); throw new Error('no more pieces'); };
    const options = {
      bytes: { method: 'PUT', headers: { 'X-Kind': 'mine', Cookie: undefined }, body: Buffer.from('whole') },
      pieces: { method: 'POST', body: pieces() },
      streamed: { method: 'POST', body: pieces() },
      failing: { method: 'POST', body: failing() },
      client: { method: 'PATCH', passBody: true },
      late: { timeout: 300 },
    };
    const open = async (request) => {
      const { status, body, request: sub } = await request.openSubrequest('/inner', { args: 'long' });
      let length = 0, pieces = 0;
      for await (const piece of body) { length += piece.length; pieces++; }
      return [status, sub.response.get('Content-Type'), length, pieces > 10].join(' ');
    };
    const leave = async (request) => {
      const { body } = await request.openSubrequest('/inner', { args: 'long' });
      for await (const piece of body) return 'left after ' + (piece.length > 0);
    };
    return { content: async (request) => {
      try {
        if (kind === 'open') return request.send(200, await open(request));
        if (kind === 'leave') return request.send(200, await leave(request));
        if (kind === 'split') options.bytes.headers = { 'X-Kind': 'a\\r\\nX-Other: b' };
        const uri = kind === 'late' ? '/never' : kind === 'streamed' ? '/unbuffered' : '/inner';
        const { body } = await request.subrequest(uri, kind === 'split' ? options.bytes : options[kind]);
        return request.send(200, body);
      } catch (error) { return request.send(200, 'rejected: ' + error.message); }
    } };
  }
`,
});

test('a subrequest has a method, fields and a body of its own, or that of the client; its response may be read in pieces', async (t) => {
  let open = 0;
  const backend = await httpBackend(t, (request, response) => {
    if (request.url?.startsWith('/never') === true) return;
    if (request.url?.includes('long') === true) {
      open++;
      response.once('close', () => open--);
      response.writeHead(200, { 'content-type': 'text/long' });
      const write = (left: number): void => {
        if (left === 0) response.end();
        else if (!response.destroyed) response.write(Buffer.alloc(50_000), () => write(left - 1));
      };
      write(100);
      return;
    }
    void bodyOf(request).then((body) => {
      const { 'x-kind': kind, cookie, host } = request.headers;
      response.end(
        [request.method, String(kind), String(cookie), host === undefined ? '' : 'host', body.length, body.slice(0, 3)].join(' '),
      );
    });
  });
  const kinds = ['bytes', 'pieces', 'streamed', 'failing', 'client', 'late', 'open', 'leave', 'split'];
  const srv = await startSrv(
    t,
    `load_module modules/test_make_module.so; error_log logs/error.log info; events {}
    http { client_max_body_size 2m; proxy_set_header Host $host;
      server { listen 127.0.0.1:%%PORT_web%%;
        location /inner { internal; proxy_pass http://127.0.0.1:${backend.port}; }
        location /unbuffered { internal; proxy_request_buffering off; proxy_pass http://127.0.0.1:${backend.port}; }
        location /never { internal; proxy_pass http://127.0.0.1:${backend.port}; }
        ${kinds.map((kind) => `location /${kind} { make ${kind}; }`).join('\n')}
    } }`,
    { files: { 'modules/test_make_module.js': MAKER } },
  );
  const make = async (kind: string, body = 'from the client'): Promise<string> =>
    (await get(srv.port('web'), `/${kind}`, { method: 'POST', body, headers: { cookie: 'a=b', 'x-kind': 'client' } })).body;
  t.is(await make('bytes'), 'PUT mine undefined host 5 who');
  t.is(await make('pieces'), 'POST client a=b host 300000 ppp');
  t.is(await make('streamed'), 'POST client a=b host 300000 ppp');
  t.is(await make('client'), 'PATCH client a=b host 15 fro');
  t.is(await make('client', 'y'.repeat(1_000_000)), 'PATCH client a=b host 1000000 yyy');
  t.is(await make('failing'), 'rejected: no more pieces');
  t.is(await make('late'), 'rejected: timed out (110: Connection timed out)');
  t.is(await make('open'), '200 text/long 5000000 true');
  t.is(await make('leave'), 'left after true');
  t.is(await make('split'), 'PUT a  X-Other: b a=b host 5 who', 'a value stays in its field');
  await waitFor('the end of the response that was left', () => open === 0);
});
