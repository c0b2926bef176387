import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Responds with the fields that the query names: `/path?X-Accel-Redirect=/target&Cache-Control=private`. */
async function redirecting(t: ExecutionContext): Promise<{ srv: Srv; connections: () => number }> {
  const backend = await httpBackend(t, (request, response) => {
    const { searchParams, pathname } = new URL(request.url ?? '', 'http://a');
    if (pathname.startsWith('/again')) response.setHeader('X-Accel-Redirect', '/again');
    for (const name of new Set(searchParams.keys())) response.setHeader(name, searchParams.getAll(name));
    response.setHeader('X-Member', '1');
    response.statusCode = pathname === '/failed' ? 503 : 200;
    response.end(pathname.startsWith('/echo') ? `${request.method} ${request.url}` : 'not for the client');
  });
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      upstream member { server 127.0.0.1:${backend.port}; keepalive 4; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        root files;
        location / { proxy_pass http://member; }
        location /ignored { proxy_pass http://member; proxy_ignore_headers X-Accel-Redirect; proxy_ignore_headers Vary; }
        location /shown { proxy_pass http://member; proxy_ignore_headers X-Accel-Redirect; proxy_pass_header X-Accel-Redirect; }
        location /intercepted { proxy_intercept_errors on; error_page 503 /page; proxy_pass http://member/failed; }
        location /page { return 200 page; }
        location /files { internal; alias %%PREFIX%%/files; default_type application/x-none; }
        location /echo { internal; proxy_pass http://member; }
        location /text { internal; return 200 "$request_method $uri $args"; }
        location @named { return 200 "$request_method $uri"; }
      }
    }`,
    { files: { 'files/a b': 'content', 'files/x.txt': 'text' } },
  );
  return { srv, connections: () => backend.connections };
}

const to = (target: string, fields = ''): string => `/at?X-Accel-Redirect=${encodeURIComponent(target)}${fields}`;

test('another URI, a file or a named location responds', async (t) => {
  const { srv, connections } = await redirecting(t);
  const ask = async (path: string, method = 'GET'): Promise<string> => {
    const { status, body, headers } = await get(srv.port('web'), path, { method });
    t.is(headers['x-accel-redirect'], undefined, path);
    return `${status} ${body}${headers['x-member'] === undefined ? '' : ' of the member'}`;
  };
  t.is(await ask('/files/x.txt'), '404 ' + (await get(srv.port('web'), '/files/x.txt')).body, 'the target itself is internal');
  t.is(await ask(to('/files/a%20b')), '200 content', 'the URI is decoded');
  t.is(await ask(to('/text/a?b=%20c')), '200 GET /text/a b=%20c');
  t.is(await ask(to('/text'), 'POST'), '200 GET /text ', 'as nginx does it');
  t.is(await ask(to('/files/x.txt'), 'HEAD'), '200 ');
  t.is(await ask(to('@named'), 'POST'), '200 POST /at', 'a named location keeps method and URI');
  t.is(await ask(to('/echo/x?y')), '200 GET /echo/x?y of the member');
  t.is(await ask(to('/files/none')), '404 ' + (await get(srv.port('web'), '/files/none')).body);
  t.is(await ask(to('/text').replace('/at', '/failed')), '200 GET /text ', 'whatever the status of the member');
  t.is(await ask(to('/text').replace('/at', '/intercepted')), '503 page', 'proxy_intercept_errors is first');
  t.is(await ask(to('/text').replace('/at', '/ignored')), '200 not for the client of the member');
  t.is((await get(srv.port('web'), to('/text').replace('/at', '/shown'))).headers['x-accel-redirect'], '/text');
  t.is(connections(), 1, 'a response that is whole does not cost its connection');
});

test('an unsafe URI is not followed', async (t) => {
  const { srv } = await redirecting(t);
  for (const target of ['/files/../x', '/files/%2e%2e/x', '/..', 'files', '/files/%00', '/files/..%2fx', '']) {
    t.is((await get(srv.port('web'), to(target))).status, 404, target);
    const text = `unsafe URI "${target}" was detected while reading response header from upstream, client: `;
    await waitFor(text, () => srv.log().includes(text));
  }
});

test('what the response keeps of the one it replaces', async (t) => {
  const { srv } = await redirecting(t);
  const kept =
    '&Content-Type=a/b&Content-Disposition=c&Accept-Ranges=none&Set-Cookie=d=1&Set-Cookie=e=2&Cache-Control=f&Expires=0&X-Other=g';
  const { headers, body } = await get(srv.port('web'), to('/files/x.txt', kept));
  t.is(body, 'text');
  t.like(headers, {
    'content-type': 'a/b',
    'content-disposition': 'c',
    'set-cookie': ['d=1', 'e=2'],
    'cache-control': 'f',
    expires: '0',
    // Both, as from nginx.
    'accept-ranges': 'none, bytes',
  });
  t.is(headers['x-other'], undefined);
  t.is((await get(srv.port('web'), to('/text', kept))).headers['content-type'], 'a/b');
  t.is((await get(srv.port('web'), to('/files/x.txt').replace('?', '?Content-Type=&'))).headers['content-type'], 'application/x-none');
});

test('members that send each other round and round: 500', async (t) => {
  const { srv } = await redirecting(t);
  t.is((await get(srv.port('web'), '/again')).status, 500);
  await srv.waitForLog(/rewrite or internal redirection cycle while processing "\/again"/);
});

test('over a body that the member is still sending', async (t) => {
  const { srv, connections } = await redirecting(t);
  const client = await connectRaw(t, srv.port('web'));
  for (let at = 1; at < 4; at++) {
    client.send(`GET ${to('/text', '&Transfer-Encoding=chunked')} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await client.receive(/GET \/text $/);
    client.take();
  }
  t.is(connections(), 3, 'its connection is closed');
});
