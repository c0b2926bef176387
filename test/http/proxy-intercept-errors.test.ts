import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('proxy_intercept_errors', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    const status = Number(request.url?.slice(-3));
    if (status === 401) response.setHeader('www-authenticate', ['Basic realm="a"', 'Bearer']);
    response.writeHead(status, { 'x-backend': '1', ...(status === 302 ? { location: '/there' } : {}) });
    response.end('backend');
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        error_page 404 /page;
        error_page 500 502 =503 /page;
        error_page 401 /page;
        error_page 302 = /page;
        location /page { return 200 "page $upstream_status"; }
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /on { proxy_pass http://127.0.0.1:${backend.port}; proxy_intercept_errors on; }
        location /gone { proxy_pass http://127.0.0.1:9; }
      }
    }`,
  );
  const ask = async (path: string): Promise<string> => {
    const { status, body, headers } = await get(srv.port('web'), path);
    return `${status} ${body} ${String(headers['x-backend'] ?? '-')}`;
  };
  t.is(await ask('/404'), '404 backend 1');
  t.is(await ask('/on404'), '404 page 404 -');
  t.is(await ask('/on500'), '503 page 500 -');
  t.is(await ask('/on403'), '403 backend 1', 'no page for it');
  t.is(await ask('/on200'), '200 backend 1');
  t.is(await ask('/on302'), '200 page 302 -');
  t.is(await ask('/gone'), '503 page 502 -', 'the engine’s own errors have their pages in any case');
  const { status, rawHeaders } = await get(srv.port('web'), '/on401');
  t.is(status, 401);
  t.deepEqual(
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'www-authenticate'),
    ['Basic realm="a"', 'Bearer'],
    'what the client has to answer is passed on',
  );
});
