import test from 'ava';
import { exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { echoBackend } from './echo-backend.js';

test('the fields that the member gets', async (t) => {
  const { port } = await echoBackend(t);
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${port}; }
      proxy_set_header X-Http 1;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name s.example;
        location / { proxy_pass http://group; }
        location /address { proxy_pass http://127.0.0.1:${port}; }
        location /own {
          proxy_pass http://group;
          proxy_set_header Host $host;
          proxy_set_header X-Own "$request_method $uri";
          proxy_set_header x-client replaced;
          proxy_set_header X-Empty "";
          proxy_set_header X-Unset $arg_unset;
          proxy_set_header Accept-Encoding "";
        }
        location /twice { proxy_pass http://group; proxy_set_header X-A 1; proxy_set_header X-A 2; }
        location /forwarded {
          proxy_pass http://group;
          proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          proxy_set_header X-Forwarded-Proto $scheme;
          proxy_set_header X-Real-IP $remote_addr;
          proxy_set_header X-Host $http_host;
          proxy_set_header X-Proxy "$proxy_host $proxy_port";
        }
        location /none { proxy_pass http://group; proxy_pass_request_headers off; }
        location /old { proxy_pass http://group; proxy_http_version 1.0; }
        location /framing { proxy_pass http://group; proxy_set_header Content-Length 5; proxy_set_header Transfer-Encoding chunked; }
        location /inject { proxy_pass http://group; proxy_set_header X-Path $uri; }
      }
    }`,
  );
  const ask = async (path: string, lines = ''): Promise<string[]> => {
    const received = await exchange(t, srv.port('web'), `GET ${path} HTTP/1.1\r\nHost: c.example:99\r\nConnection: close\r\n${lines}\r\n`);
    return (received.split('\r\n\r\n')[1] ?? '').trimEnd().split('\r\n').slice(1);
  };
  t.deepEqual(await ask('/'), ['Host: group', 'X-Http: 1']);
  t.deepEqual(await ask('/address'), [`Host: 127.0.0.1:${port}`, 'X-Http: 1']);
  t.deepEqual(await ask('/', 'X-A: 1\r\nx-b:2\r\nX-A:  3 \r\nCookie: a=b\r\nX-Empty:\r\n'), [
    'Host: group',
    'X-Http: 1',
    'X-A: 1',
    'x-b:2',
    'X-A:  3 ',
    'Cookie: a=b',
    'X-Empty:',
  ]);
  t.deepEqual(
    await ask('/own', 'X-Client: 1\r\nX-CLIENT: 2\r\nAccept-Encoding: gzip\r\nX-Http: client\r\n'),
    ['Host: c.example', 'X-Own: GET /own', 'x-client: replaced', 'X-Http: client'],
    'lines of its own: none of outside',
  );
  t.deepEqual(await ask('/twice'), ['Host: group', 'X-A: 1', 'X-A: 2']);
  t.deepEqual(await ask('/forwarded', 'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\nX-Real-IP: 6.6.6.6\r\n'), [
    'Host: group',
    'X-Forwarded-For: 1.1.1.1, 2.2.2.2, 127.0.0.1',
    'X-Forwarded-Proto: http',
    'X-Real-IP: 127.0.0.1',
    'X-Host: c.example:99',
    'X-Proxy: group 80',
  ]);
  t.is((await ask('/forwarded'))[1], 'X-Forwarded-For: 127.0.0.1');
  t.deepEqual(await ask('/none', 'X-A: 1\r\n'), ['Host: group', 'X-Http: 1']);
  t.deepEqual(await ask('/old'), ['Host: group', 'X-Http: 1', 'Connection: close']);
  t.deepEqual(await ask('/framing'), ['Host: group'], 'the framing is the engine’s');
  t.deepEqual(await ask('/inject%0d%0aX-Evil:%201'), ['Host: group', 'X-Path: /inject  X-Evil: 1']);
});

test('fields of one hop end here, those that Connection names too', async (t) => {
  const { port } = await echoBackend(t);
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${port}; proxy_set_header Host h; } } }`,
  );
  const hop = 'Keep-Alive: 5\r\nProxy-Connection: x\r\nTE: trailers\r\nUpgrade: h2c\r\nExpect: something\r\n';
  const named = 'X-Named: 1\r\nx-NAMED: 2\r\nX-Kept: 3\r\n';
  const received = await exchange(
    t,
    srv.port('web'),
    `GET / HTTP/1.1\r\nHost: a\r\n${hop}${named}Connection: x-named, close\r\nConnection: host, Content-Length\r\n\r\n`,
  );
  t.is(received.split('\r\n\r\n')[1], 'GET / HTTP/1.1\r\nHost: h\r\nX-Kept: 3\r\n');
});
