import test from 'ava';
import { exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { echoBackend } from './echo-backend.js';

test('underscores_in_headers and ignore_invalid_headers', async (t) => {
  const { port } = await echoBackend(t);
  const server = (name: string, lines: string): string => `server {
    listen 127.0.0.1:%%PORT_${name}%%;
    ${lines}
    location / { proxy_pass http://127.0.0.1:${port}; proxy_set_header X-Seen "$http_x_real_ip|$http_a_b"; }
  }`;
  const srv = await startSrv(
    t,
    `events {}
    http {
      ${server('default', '')}
      ${server('underscores', 'underscores_in_headers on;')}
      ${server('any', 'ignore_invalid_headers off;')}
    }`,
  );
  const ask = async (name: string, lines: string): Promise<string[]> => {
    const received = await exchange(t, srv.port(name), `GET / HTTP/1.1\r\n${lines}Host: a\r\nConnection: close\r\n\r\n`);
    return (received.split('\r\n\r\n')[1] ?? '').trimEnd().split('\r\n').slice(2);
  };
  for (const name of ['X@', 'X(A)', 'X/A', '"X"', 'X\xe9', '@']) {
    t.deepEqual(await ask('default', `${name}: 1\r\nX-A: 2\r\n`), ['X-Seen: |', 'X-A: 2'], name);
    t.deepEqual(await ask('underscores', `${name}: 1\r\nX-A: 2\r\n`), ['X-Seen: |', 'X-A: 2'], name);
    t.regex(
      await exchange(t, srv.port('any'), `GET / HTTP/1.1\r\n${name}: 1\r\nHost: a\r\n\r\n`),
      /^HTTP\/1\.1 400 /,
      'no token: not passed on',
    );
  }
  const lines = 'X_Real_IP: 1\r\nX-A: 2\r\nX.B: 3\r\n_: 4\r\nX!: 5\r\nA-B: 6\r\n';
  t.deepEqual(await ask('default', lines), ['X-Seen: |6', 'X-A: 2', 'A-B: 6']);
  t.deepEqual(await ask('underscores', lines), ['X-Seen: 1|6', 'X_Real_IP: 1', 'X-A: 2', '_: 4', 'A-B: 6']);
  t.deepEqual(await ask('any', lines), ['X-Seen: 1|6', ...lines.trimEnd().split('\r\n')]);
  t.deepEqual(await ask('default', 'Content_Length: 5\r\nTransfer_Encoding: chunked\r\n'), ['X-Seen: |'], 'and they frame nothing');
});
