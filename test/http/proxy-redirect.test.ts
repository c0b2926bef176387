import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('proxy_redirect', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    const { 'x-refresh': refresh } = request.headers;
    if (refresh !== undefined) {
      response.writeHead(200, { refresh: String(refresh) }).end();
      return;
    }
    const status = /\d+$/.exec(request.url ?? '')?.[0] ?? '302';
    response.writeHead(Number(status), { location: String(request.headers['x-location']) });
    response.end();
  });
  const to = `http://127.0.0.1:${backend.port}`;
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${backend.port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name s;
        location / { proxy_pass ${to}; }
        location /uri/ { proxy_pass ${to}/base/; }
        location /group/ { proxy_pass http://group/base/; }
        location /off/ { proxy_pass ${to}/base/; proxy_redirect off; }
        location /lines/ {
          proxy_pass ${to}/base/;
          proxy_redirect http://first.example/ /one/;
          proxy_redirect http://second.example $scheme://$http_host/two;
          proxy_redirect default;
        }
        location /regex/ {
          proxy_pass ${to};
          proxy_redirect ~^http://([^.]+)\\.example(?<rest>/.*)$ /$1$rest;
          proxy_redirect ~*^https://OTHER /other;
        }
        location /inherited/ { proxy_pass ${to}; proxy_redirect http://a/ http://b/; location /inherited/in/ { proxy_pass ${to}; } }
      }
    }`,
  );
  const port = srv.port('web');
  const ask = async (path: string, location: string): Promise<string | undefined> => {
    const { headers } = await get(port, path, { headers: { host: `h.example:${port}`, 'x-location': location } });
    return headers.location;
  };
  const refresh = async (path: string, value: string): Promise<unknown> =>
    (await get(port, path, { headers: { 'x-refresh': value } })).headers['refresh'];
  t.is(await refresh('/uri/', `0; URL=${to}/base/a`), '0; URL=/uri/a');
  t.is(await refresh('/lines/', '5;url=http://first.example/a'), '5;url=/one/a');
  t.is(await refresh('/off/', `0;url=${to}/base/a`), `0;url=${to}/base/a`);
  t.is(await refresh('/uri/', '5'), '5');
  const here = `http://h.example:${port}`;
  t.is(await ask('/', `${to}/a`), `${here}/a`);
  for (const status of [201, 202, 200, 404, 503]) t.is(await ask(`/${status}`, `${to}/a`), `${here}/a`, `of ${status} as well`);
  t.is(await ask('/', '/relative'), '/relative', 'not ours to complete');
  t.is(await ask('/', 'http://other.example/'), 'http://other.example/');
  t.is(await ask('/uri/', `${to}/base/a`), `${here}/uri/a`);
  t.is(await ask('/uri/', `${to}/a`), `${to}/a`, 'outside of the base');
  t.is(await ask('/group/', 'http://group/base/a'), `${here}/group/a`);
  t.is(await ask('/off/', `${to}/base/a`), `${to}/base/a`);
  t.is(await ask('/lines/', 'http://first.example/a'), `${here}/one/a`);
  t.is(await ask('/lines/', 'http://second.example/a'), `${here}/two/a`);
  t.is(await ask('/lines/', `${to}/base/a`), `${here}/lines/a`);
  t.is(await ask('/regex/', 'http://www.example/a?b'), `${here}/www/a?b`);
  t.is(await ask('/regex/', 'https://other.example/a'), `${here}/other`);
  t.is(await ask('/regex/', `${to}/a`), `${to}/a`, 'no line, no default');
  t.is(await ask('/inherited/in/', 'http://a/x'), 'http://b/x');
});
