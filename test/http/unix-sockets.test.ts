import { existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

test('unix sockets on both sides', async (t) => {
  const path = `${tempFolder(t)}/backend.sock`;
  const backend = createServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
  await new Promise<void>((resolve) => backend.listen(path, resolve));
  t.teardown(() => backend.close());
  const srv = await startSrv(
    t,
    `worker_processes 2;
    events {}
    http {
      upstream group { server unix:${path}; }
      server {
        listen unix:%%PREFIX%%/srv.sock;
        listen unix:%%PREFIX%%/mode.sock mode=0620;
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 "$remote_addr $server_addr"; }
        location /ports { return 200 "[$remote_port][$server_port]"; }
        location /allowed { allow unix:; deny all; return 200 allowed; }
        location /denied { deny unix:; allow all; proxy_pass http://group; }
        location /group { proxy_pass http://group; }
        location /direct { proxy_pass http://unix:${path}; }
        location /uri/ { proxy_pass http://unix:${path}:/base/; }
      }
    }`,
  );
  const socket = srv.path('srv.sock');
  const ask = async (to: string | number, path: string): Promise<string> => {
    const received = await exchange(t, to, `GET ${path} HTTP/1.0\r\nHost: a\r\n\r\n`);
    return `${received.slice(9, 12)} ${received.split('\r\n\r\n')[1] ?? ''}`;
  };
  t.is(await ask(socket, '/'), `200 unix: unix:${socket}`);
  t.is(await ask(socket, '/ports'), '200 [][]');
  t.is(await ask(socket, '/group'), '200 group /group');
  t.is(await ask(socket, '/direct'), '200 localhost /direct');
  t.is(await ask(socket, '/uri/x'), '200 localhost /base/x');
  t.is(await ask(srv.port('web'), '/group'), '200 group /group');
  t.regex(await ask(socket, '/denied'), /^403/);
  t.is(await ask(srv.port('web'), '/denied'), '200 group /denied');
  t.is((await get(srv.port('web'), '/')).body, '127.0.0.1 127.0.0.1');
  const modeOf = (): string => (statSync(srv.path('mode.sock')).mode & 0o777).toString(8);
  t.is(modeOf(), '620');
  t.regex(await ask(srv.path('mode.sock'), '/'), /^200 unix:/);
  t.deepEqual(
    readdirSync(srv.prefix).filter((name) => name.startsWith('.srv')),
    [],
  );
  await srv.configure(srv.read('conf/srv.conf').replace('mode=0620', 'mode=600'));
  srv.signal('SIGHUP');
  await waitFor('the other mode', () => modeOf() === '600');
  t.regex(await ask(srv.path('mode.sock'), '/'), /^200 unix:/, 'it is the same socket');
  await srv.stop();
  t.false(existsSync(srv.path('mode.sock')));
  t.false(existsSync(socket), 'the file is removed at the end');
});
