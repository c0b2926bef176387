import test from 'ava';
import { bodyOf, httpsBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('members may speak TLS', async (t) => {
  const backend = await httpsBackend(t, selfSigned('backend.example'), (request, response) => {
    void bodyOf(request).then((body) =>
      response.end(`${request.url} ${request.headers.host} ${body.length} ${'x'.repeat(Number(request.headers['x-length'] ?? 0))}`),
    );
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      client_max_body_size 0;
      upstream group { server 127.0.0.1:${backend.port}; keepalive 4; }
      upstream dead { server 127.0.0.1:9 max_fails=0; server 127.0.0.1:${backend.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass https://127.0.0.1:${backend.port}; }
        location /group/ { proxy_pass https://group/base/; }
        location /dead { proxy_pass https://dead; }
        location /either { proxy_pass $arg_scheme://group; }
        location /plain-group { proxy_pass http://group; }
        location /plain { proxy_pass http://127.0.0.1:${backend.port}; }
      }
      server { listen 127.0.0.1:%%PORT_other%%; location / { return 200 "no TLS here"; } }
      server { listen 127.0.0.1:%%PORT_wrong%%; location / { proxy_pass https://127.0.0.1:%%PORT_other%%; } }
    }`,
  );
  const port = srv.port('web');
  t.is((await get(port, '/a')).body, `/a 127.0.0.1:${backend.port} 0 `);
  const before = backend.connections;
  for (let at = 0; at < 5; at++) t.is((await get(port, '/group/x')).body, '/base/x group 0 ');
  t.is(backend.connections - before, 1, 'the connection is used again');
  t.is((await get(port, '/dead')).body, '/dead dead 0 ');
  t.is((await get(port, '/u', { method: 'POST', body: 'y'.repeat(3_000_000) })).body, `/u 127.0.0.1:${backend.port} 3000000 `);
  t.is((await get(port, '/d', { headers: { 'x-length': '3000000' } })).body.length, `/d 127.0.0.1:${backend.port} 0 `.length + 3_000_000);
  t.is((await get(port, '/either?scheme=https')).body, '/either?scheme=https group 0 ');
  t.not((await get(port, '/either?scheme=http')).status, 200);
  t.is((await get(srv.port('wrong'), '/')).status, 502, 'nobody speaks TLS there');
  t.not((await get(port, '/plain')).status, 200);
  await get(port, '/group/x');
  t.not((await get(port, '/plain-group')).status, 200, 'an idle connection with TLS is not for requests without it');
  t.is((await get(port, '/a')).status, 200);
});
