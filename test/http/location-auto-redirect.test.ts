import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('/name is redirected to /name/ where requests are passed on', async (t) => {
  const backend = await httpBackend(t, (request, response) => response.end(request.url));
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name a.example;
        location / { return 200 root; }
        location /app/ { proxy_pass http://127.0.0.1:${backend.port}; }
        location ~ ^/app { return 200 regex; }
        location /both { return 200 both; }
        location /both/ { proxy_pass http://127.0.0.1:${backend.port}; }
        location = /exact/ { proxy_pass http://127.0.0.1:${backend.port}; }
        location "/a b/" { proxy_pass http://127.0.0.1:${backend.port}; }
        location /text/ { return 200 text; }
        location /st/ { stub_status; }
        location /relative/ { proxy_pass http://127.0.0.1:${backend.port}; absolute_redirect off; }
        location /noport/ { proxy_pass http://127.0.0.1:${backend.port}; port_in_redirect off; }
        location /named/ { proxy_pass http://127.0.0.1:${backend.port}; server_name_in_redirect on; }
      }
    }`,
  );
  const port = srv.port('web');
  const location = async (path: string): Promise<string | undefined> => {
    const { status, headers } = await get(port, path, { headers: { host: 'b.example' } });
    return status === 301 ? headers.location : undefined;
  };
  t.is(await location('/app'), `http://b.example:${port}/app/`, 'before any regular expression');
  t.is(await location('/app?a=1&b'), `http://b.example:${port}/app/?a=1&b`);
  t.is(await location('/exact'), `http://b.example:${port}/exact/`);
  t.is(await location('/a%20b'), `http://b.example:${port}/a%20b/`, 'encoded again');
  t.is(await location('/both'), undefined, '/both is a location itself');
  t.is(await location('/text'), undefined, 'nothing is passed on there');
  t.is(await location('/st'), undefined, 'stub_status passes nothing on');
  t.is(await location('/relative'), '/relative/');
  t.is(await location('/noport'), 'http://b.example/noport/');
  t.is(await location('/named'), `http://a.example:${port}/named/`);
  t.is((await get(port, '/app/x')).body, 'regex');
  t.is(backend.requests.length, 0);
});
