import { hostname } from 'node:os';
import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('variables of the request', async (t) => {
  const names = [
    'args',
    'arg_a',
    'arg_B',
    'arg_none',
    'is_args',
    'query_string',
    'uri',
    'document_uri',
    'request_uri',
    'request_method',
    'request',
    'server_protocol',
    'scheme',
    'https',
    'host',
    'http_host',
    'http_x_multi',
    'server_name',
    'server_addr',
    'server_port',
    'remote_addr',
    'remote_user',
    'content_length',
    'content_type',
    'cookie_a',
    'cookie_B',
    'hostname',
    'connection_requests',
    'sent_http_x_set',
  ];
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name first.example second.example;
        location / { return 200 "${names.map((name) => `${name}=$${name}\\n`).join('')}"; }
        location /embedded { return 200 "\${request_method}_x $scheme://\${host}/"; }
        location /id { add_header X-Id $request_id; return 200 "$request_id"; }
        location /times { return 200 "$msec $time_iso8601 $time_local $request_time $pid $connection $remote_port $request_length"; }
      }
    }`,
  );
  const port = srv.port('web');
  const received = await exchange(
    t,
    port,
    'POST /p%20q//r?a=1&b=2&A=3#f HTTP/1.1\r\nHost: Second.Example:8080\r\nConnection: close\r\nX-Multi: 1\r\nx-multi: 2\r\n' +
      'Authorization: Basic dXNlcjpzZWNyZXQ=\r\nCookie: a=1; b=2\r\nCookie: a=3\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\nxx',
  );
  const values = Object.fromEntries(
    (received.split('\r\n\r\n')[1] ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  );
  t.deepEqual(values, {
    args: 'a=1&b=2&A=3',
    arg_a: '1',
    arg_B: '2',
    arg_none: '',
    is_args: '?',
    query_string: 'a=1&b=2&A=3',
    uri: '/p q/r',
    document_uri: '/p q/r',
    request_uri: '/p%20q//r?a=1&b=2&A=3#f',
    request_method: 'POST',
    request: 'POST /p%20q//r?a=1&b=2&A=3#f HTTP/1.1',
    server_protocol: 'HTTP/1.1',
    scheme: 'http',
    https: '',
    host: 'second.example',
    http_host: 'Second.Example:8080',
    http_x_multi: '1, 2',
    server_name: 'first.example',
    server_addr: '127.0.0.1',
    server_port: String(port),
    remote_addr: '127.0.0.1',
    remote_user: 'user',
    content_length: '2',
    content_type: 'text/x',
    cookie_a: '1',
    cookie_B: '2',
    hostname: hostname(),
    connection_requests: '1',
    sent_http_x_set: '',
  });
  t.is((await get(port, '/embedded', { headers: { host: 'h' } })).body, 'GET_x http://h/');
  const first = await get(port, '/id');
  t.regex(first.body, /^[0-9a-f]{32}$/);
  t.is(first.headers['x-id'], first.body, 'one request, one id');
  t.not((await get(port, '/id')).body, first.body);
  const now = Date.now() / 1000;
  const [, msec = ''] =
    /^(\d+\.\d{3}) \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d \d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4} \d\.\d{3} \d+ \d+ \d+ \d+$/.exec(
      (await get(port, '/times')).body,
    ) ?? [];
  t.true(Math.abs(Number(msec) - now) < 10);
});

const head = (line: string, host: string, more = ''): string => `${line} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

test('the port that a request names, how old its connection is, whether it was pipelined', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server {
      listen 127.0.0.1:%%PORT_web%%;
      return 200 "[$host$is_request_port$request_port $pipe $connection_time $arg_]";
    } }`,
  );
  const heads = [
    head('GET /', 'a.example:08080'),
    head('GET /?=x', 'b.example:'),
    head('GET http://c.example:81/', 'd.example:82'),
    head('GET http://e.example/', 'f.example:82', 'Connection: close\r\n'),
  ];
  const received = await exchange(t, srv.port('web'), heads.join(''));
  t.regex(
    (received.match(/\[[^\]]*\]/g) ?? []).join('\n'),
    /^\[a\.example:8080 \. \d\.\d{3} \]\n\[b\.example p \d\.\d{3} \]\n\[c\.example:81 p \d\.\d{3} \]\n\[e\.example p \d\.\d{3} \]$/,
  );
  t.regex((await get(srv.port('web'), '/', { headers: { host: '[::1]:90' } })).body, /^\[\[::1\]:90 \. /);
});
