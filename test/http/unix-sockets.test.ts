import { existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { exchange } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const site = shared(async (scope): Promise<Srv> => {
  const path = `${tempFolder(scope)}/backend.sock`;
  const backend = createServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
  await new Promise<void>((resolve) => backend.listen(path, resolve));
  scope.teardown(() => backend.close());
  return startSrv(
    scope,
    `worker_processes 2; error_log logs/error.log;
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
        location /gone/ { proxy_pass http://unix:%%PREFIX%%/gone.sock:/base/; }
        location /uri/ { proxy_pass http://unix:${path}:/base/; }
      }
    }`,
  );
});

/** Status and body of what comes from a port or a socket. */
async function ask(t: ExecutionContext, to: string | number, path: string): Promise<string> {
  const received = await exchange(t, to, `GET ${path} HTTP/1.0\r\nHost: a\r\n\r\n`);
  return `${received.slice(9, 12)} ${received.split('\r\n\r\n')[1] ?? ''}`;
}

test.serial('a member whose socket does not exist is named in the log', async (t) => {
  const srv = await site();
  t.regex(await ask(t, srv.port('web'), '/gone/x'), /^502 /);
  const socket = srv.path('gone.sock');
  const text = `connect\\(\\) to unix:${socket} failed \\(2: No such file or directory\\) while connecting to upstream`;
  t.truthy(await srv.waitForLog(new RegExp(`\\[crit\\] .*${text}, .*upstream: "http://unix:${socket}:/base/x"`)));
});

const modeOf = (srv: Srv): string => (statSync(srv.path('mode.sock')).mode & 0o777).toString(8);

for (const [what, path, expected] of [
  ['the server and its client have no address', '/', /^200 unix: unix:\/.*\/srv\.sock$/],
  ['there are no ports', '/ports', /^200 \[\]\[\]$/],
  ['a member with a socket', '/group', /^200 group \/group$/],
  ['a socket in proxy_pass', '/direct', /^200 localhost \/direct$/],
  ['a socket and a URI in proxy_pass', '/uri/x', /^200 localhost \/base\/x$/],
  ['allow unix:', '/allowed', /^200 allowed$/],
  ['deny unix:', '/denied', /^403 /],
] as const) {
  test.serial(`a request over a unix socket: ${what}`, async (t) => {
    t.regex(await ask(t, (await site()).path('srv.sock'), path), expected);
  });
}

for (const [path, expected] of [
  ['/group', '200 group /group'],
  ['/denied', '200 group /denied'],
  ['/', '200 127.0.0.1 127.0.0.1'],
] as const) {
  test.serial(`a request over TCP to the same server: ${path}`, async (t) => {
    t.is(await ask(t, (await site()).port('web'), path), expected);
  });
}

test.serial('mode= of listen, and another one by a reload: it is the same socket', async (t) => {
  const srv = await site();
  t.is(modeOf(srv), '620');
  t.regex(await ask(t, srv.path('mode.sock'), '/'), /^200 unix:/);
  await srv.configure(srv.read('conf/srv.conf').replace('mode=0620', 'mode=600'));
  srv.signal('SIGHUP');
  await waitFor('the other mode', () => modeOf(srv) === '600');
  t.regex(await ask(t, srv.path('mode.sock'), '/'), /^200 unix:/);
});

test.serial('a socket is made under another name, which does not stay', async (t) => {
  const { prefix } = await site();
  t.deepEqual(
    readdirSync(prefix).filter((name) => name.startsWith('.srv')),
    [],
  );
});

test.serial('the files of sockets are removed at the end', async (t) => {
  const srv = await site();
  await srv.stop();
  t.false(existsSync(srv.path('mode.sock')));
  t.false(existsSync(srv.path('srv.sock')));
});
