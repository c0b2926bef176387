import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

const ANSWER = [
  'HTTP/1.1 203 X',
  'X-One: 1',
  'X-Two: a',
  'X-Two: b',
  'Date: then',
  'Set-Cookie: id=abc; Path=/',
  'Set-Cookie: other=x=y; Secure',
  'Content-Length: 5',
  '',
  'hello',
].join('\r\n');

test('a cookie of the upstream is all up to its semicolon, as in nginx', async (t) => {
  const cookies = ['a=v1\t; Path=/', 'b = v2  ;x', 'c=\tv 3', 'abc=no', 'd', 'e='].map((line) => `Set-Cookie: ${line}\r\n`).join('');
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${cookies}Content-Length: 0\r\n\r\n`));
  });
  const names = ['a', 'B', 'c', 'd', 'e', 'bc'];
  const srv = await startSrv(
    t,
    `events {} http { log_format cookies escape=none "${names.map((name) => `[$upstream_cookie_${name}]`).join('')}";
      server { listen 127.0.0.1:%%PORT_web%%; access_log logs/cookies.log cookies; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  await get(srv.port('web'), '/');
  await srv.waitForLog(/\n/, 'logs/cookies.log');
  t.is(srv.read('logs/cookies.log'), '[v1\t][v2  ][\tv 3][][][]\n');
});

test('variables of the upstream', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', () => socket.write(ANSWER));
  });
  const names = [
    'addr',
    'status',
    'http_x_one',
    'http_x_two',
    'http_date',
    'http_none',
    'cookie_id',
    'cookie_other',
    'cookie_path',
    'response_length',
    'bytes_received',
  ];
  const times = ['connect_time', 'header_time', 'response_time'];
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format all "${[...names, ...times].map((name) => `${name}=$upstream_${name}`).join('|')}|sent=$upstream_bytes_sent";
      upstream group { server 127.0.0.1:9 max_fails=0; server 127.0.0.1:${backend.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        access_log logs/all.log all;
        location / { proxy_pass http://127.0.0.1:${backend.port}; add_header X-Addr "$upstream_addr $upstream_status" always; }
        location /retried { proxy_pass http://group; }
        location /page { proxy_pass http://127.0.0.1:9; error_page 502 = /other; }
        location /other { proxy_pass http://127.0.0.1:${backend.port}; }
        location /none { return 200 "[$upstream_addr][$upstream_status][$upstream_http_x]"; }
      }
    }`,
  );
  const port = srv.port('web');
  const logged = async (path: string): Promise<Record<string, string>> => {
    const lines = (): string[] =>
      srv
        .read('logs/all.log')
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '');
    const before = lines().length;
    await get(port, path);
    await srv.waitForLog(new RegExp(`^(.*\\n){${before + 1}}`), 'logs/all.log');
    return Object.fromEntries((lines()[before] ?? '').split('|').map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]));
  };
  const member = `127.0.0.1:${backend.port}`;
  const { connect_time, header_time, response_time, sent, ...plain } = await logged('/');
  t.deepEqual(plain, {
    addr: member,
    status: '203',
    http_x_one: '1',
    http_x_two: 'a, b',
    http_date: 'then',
    http_none: '-',
    cookie_id: 'abc',
    cookie_other: 'x=y',
    cookie_path: '-',
    response_length: '5',
    bytes_received: String(ANSWER.length),
  });
  for (const time of [connect_time, header_time, response_time]) t.regex(time ?? '', /^\d+\.\d{3}$/);
  t.true(Number(sent) > 40);
  const retried = await logged('/retried');
  t.deepEqual([retried.addr, retried.status, retried.response_length], [`127.0.0.1:9, ${member}`, '502, 203', '0, 5']);
  t.regex(retried.connect_time ?? '', /^-, \d\.\d{3}$/);
  const page = await logged('/page');
  t.deepEqual([page.addr, page.status], [`127.0.0.1:9 : ${member}`, '502 : 203']);
  t.is((await get(port, '/')).headers['x-addr'], `${member} 203`, 'known to header filters');
  t.is((await get(port, '/none')).body, '[][][]');
});
