import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { connectRaw, exchange } from '../harness/client.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';
import { startSrv } from '../harness/srv.js';

sameAsNginx(
  'a client that waits for 100 without a body gets it before the response, unless that is an error',
  (_, port) => `server {
    listen 127.0.0.1:${port};
    location /here { return 200 here; }
    location /empty { return 204; }
    location /moved { return 301 /here; }
    location /denied { return 403; }
    location /member { proxy_pass http://127.0.0.1:${port}/here; }
    location /no-member { proxy_pass http://127.0.0.1:${port}/denied; }
  }`,
  async (t, port) => {
    const ask = async (path: string, lines: string, version = '1.1'): Promise<string> => {
      const head = `GET ${path} HTTP/${version}\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n`;
      const received = await exchange(t, port, `${head}${lines}\r\n`);
      return Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status).join(' ');
    };
    for (const lines of ['', 'Content-Length: 0\r\n']) {
      t.is(await ask('/here', lines), '100 200');
      t.is(await ask('/empty', lines), '100 204');
      t.is(await ask('/moved', lines), '100 301');
      t.is(await ask('/denied', lines), '403');
      t.is(await ask('/member', lines), '100 200');
      t.is(await ask('/no-member', lines), '100 403');
      t.is(await ask('/here', lines, '1.0'), '200');
      t.is(await ask('/member', lines, '1.0'), '200');
    }
  },
);

test('a client that waits for 100 gets it when somebody wants the body, else the response', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) => response.end(`[${request.headers.expect ?? 'no expect'} ${body}]`));
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      client_max_body_size 10;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /stream { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; }
        location /here { return 200 here; }
        location /denied { deny all; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  const open = async (path: string, length: number, version = '1.1') => {
    const connection = await connectRaw(t, srv.port('web'));
    connection.send(`PUT ${path} HTTP/${version}\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`);
    return connection;
  };
  for (const path of ['/', '/stream']) {
    const connection = await open(path, 5);
    t.is((await connection.receive(/^[^]*\r\n\r\n/))[0], 'HTTP/1.1 100 Continue\r\n\r\n', path);
    connection.send('hello');
    await connection.receive(/\[no expect hello\]/);
    connection.send('GET /here HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    t.regex(await connection.receiveAll(), /here$/, 'the connection goes on');
  }
  for (const [path, status] of [
    ['/here', 200],
    ['/denied', 403],
  ] as const) {
    const received = await (await open(path, 5)).receiveAll();
    t.regex(received, new RegExp(`^HTTP/1\\.1 ${status} `), path);
    t.regex(received, /Connection: close/, 'the body would have to be waited for');
  }
  t.regex(await (await open('/', 11)).receiveAll(), /^HTTP\/1\.1 413 /);
  const old = await open('/', 5, '1.0');
  old.send('hello');
  t.regex(await old.receiveAll(), /^HTTP\/1\.1 200 [^]*\[no expect hello\]/, 'HTTP/1.0 knows no 100');
});
