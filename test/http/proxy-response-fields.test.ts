import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { echoBackend } from './echo-backend.js';

const FIELDS = [
  'Server: backend',
  'Date: Mon, 01 Jan 2001 00:00:00 GMT',
  'X-Pad: x',
  'X-Accel-Expires: 5',
  'X-A: 1',
  'x-a: 2',
  'Set-Cookie: a=b; path=/',
  'Set-Cookie: c=d',
  'Keep-Alive: timeout=5',
  'Proxy-Connection: x',
  'Connection: X-Named',
  'X-Named: n',
  'Upgrade: h2c',
];

test('proxy_hide_header, proxy_pass_header, and what ends at this hop', async (t) => {
  const { port } = await echoBackend(t, FIELDS.map((line) => `${line}\r\n`).join(''));
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /hide { proxy_pass http://127.0.0.1:${port}; proxy_hide_header x-A; proxy_hide_header Set-Cookie; }
        location /pass { proxy_pass http://127.0.0.1:${port}; proxy_pass_header Server; proxy_pass_header date; proxy_pass_header X-Accel-Expires; }
      }
    }`,
  );
  const ask = async (path: string): Promise<string[]> => {
    const { rawHeaders } = await get(srv.port('web'), path, { headers: { connection: 'close' } });
    const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? `${name}: ${rawHeaders[at + 1]}` : []));
    return lines.map((line) =>
      line
        .replace(/^(Date): .*20[2-9].*/, '$1: now')
        .replace(/srv.*/, 'own')
        .replace(/^(Content-Length): .*/, '$1'),
    );
  };
  const common = ['Content-Length', 'Connection: close'];
  t.deepEqual(await ask('/'), [
    'Server: own',
    'Date: now',
    ...common,
    'X-A: 1',
    'x-a: 2',
    'Set-Cookie: a=b; path=/',
    'Set-Cookie: c=d',
    'Upgrade: h2c',
  ]);
  t.deepEqual(await ask('/hide'), ['Server: own', 'Date: now', ...common, 'Upgrade: h2c']);
  t.deepEqual((await ask('/pass')).sort(), [...common, ...FIELDS.slice(0, 2), ...FIELDS.slice(3, 8), 'Upgrade: h2c'].sort());
});

test('proxy_pass_header Server, Date: where the member has none there is none', async (t) => {
  const { port } = await echoBackend(t);
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { proxy_pass http://127.0.0.1:${port}; }
      location /server { proxy_pass http://127.0.0.1:${port}; proxy_pass_header Server; }
      location /date { proxy_pass http://127.0.0.1:${port}; proxy_pass_header Date; }
    } }`,
  );
  const own = async (path: string): Promise<string[]> => {
    const { headers } = await get(srv.port('web'), path);
    return ['server', 'date'].filter((name) => name in headers);
  };
  t.deepEqual(await own('/'), ['server', 'date']);
  t.deepEqual(await own('/server'), ['date']);
  t.deepEqual(await own('/date'), ['server']);
});
