import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { get } from '../harness/client.js';
import { guard } from '../harness/guard.js';
import { freePort } from '../harness/ports.js';
import { findProgram, testWith } from '../harness/programs.js';
import { startNginx } from '../harness/nginx.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const PROGRAM = 'php-fpm8.2';
const PHP = `<?php
switch ($_GET['do'] ?? '') {
  case 'status': http_response_code(404); echo 'none'; break;
  case 'redirect': header('Location: /elsewhere'); break;
  case 'error': error_log('an error'); echo 'done'; break;
  case 'big': echo str_repeat('0123456789', 100000); break;
  case 'length': header('Content-Length: 5'); echo 'hello'; break;
  case 'cookies': setcookie('a', '1'); setcookie('b', '2'); echo 'c'; break;
  case 'accel': header('X-Accel-Redirect: /inside/'); break;
  case 'nothing': http_response_code(204); break;
  default: ksort($_SERVER); echo json_encode(['server' => $_SERVER, 'body' => file_get_contents('php://input'), 'get' => $_GET]);
}`;
/** Differ between two servers, or from one request to the next. */
const OWN = /"(?:REMOTE_PORT|SERVER_PORT|SERVER_SOFTWARE|REQUEST_TIME(?:_FLOAT)?|HTTP_HOST)":(?:"[^"]*"|[\d.]+),?/g;

/** Starts PHP's process manager. Returns the folder of the site, and the socket. */
async function startPhp(t: ExecutionContext): Promise<{ folder: string; socket: string }> {
  const folder = tempFolder(t);
  const socket = join(folder, 'php.sock');
  writeInto(folder, 'www/app/index.php', PHP);
  writeInto(
    folder,
    'fpm.conf',
    `[global]\nerror_log = ${folder}/fpm.log\ndaemonize = no\n[www]\nuser = nobody\ngroup = nogroup\nlisten = ${socket}\nlisten.mode = 0666\npm = static\npm.max_children = 2\n`,
  );
  const child = spawn(findProgram(PROGRAM) ?? '', ['-F', '-R', '-y', join(folder, 'fpm.conf')], { stdio: 'ignore' });
  if (child.pid !== undefined) guard.watch(child.pid);
  const exited = new Promise((done) => child.once('close', done));
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exited;
    if (child.pid !== undefined) guard.forget(child.pid);
  });
  await waitFor('the socket of php-fpm', () => existsSync(socket));
  return { folder, socket };
}

const site = (port: number, { folder, socket }: { folder: string; socket: string }, params: string): string => `
  upstream kept { server unix:${socket}; keepalive 2; }
  server {
    listen 127.0.0.1:${port}; server_name php.example; root ${folder}/www; include ${params};
    fastcgi_param PATH_INFO $fastcgi_path_info; fastcgi_param HTTP_X_HIDDEN ""; fastcgi_param MINE "a $arg_x";
    location / { fastcgi_pass unix:${socket}; fastcgi_split_path_info ^(.+\\.php)(/.*)$; fastcgi_index index.php; }
    location /kept/ { rewrite ^/kept(/.*)$ $1 break; fastcgi_pass kept; fastcgi_keep_conn on; }
    location /inside/ { internal; return 200 inside; }
  }`;

const REQUESTS: readonly (readonly [path: string, options?: object])[] = [
  ['/app/index.php/x/y?x=1&z=%20b', { headers: { 'x-hidden': '1', cookie: 'a=1', 'accept-language': 'de' } }],
  ['/app/'],
  ['/app/index.php', { method: 'POST', body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['/app/index.php', { method: 'POST', body: 'a=b', headers: { 'transfer-encoding': 'chunked' } }],
  ['/app/index.php', { method: 'PUT', body: 'line\n'.repeat(40_000) }],
  ['/app/index.php', { method: 'HEAD' }],
  ['/app/index.php?%0a=%ff', { headers: { 'x-a': '1', te: 'trailers' } }],
  ...['status', 'redirect', 'error', 'big', 'length', 'cookies', 'accel', 'nothing'].map((name) => [`/app/index.php?do=${name}`] as const),
  ['/app/none.php'],
  ['/kept/app/index.php'],
  ['/kept/app/index.php?do=big'],
];

testWith(PROGRAM)('php-fpm gets the same from srv as from nginx, and clients the same responses', async (t) => {
  const php = await startPhp(t);
  const port = await freePort(t);
  await startSrv(t, `events {} http { ${site(port, php, join(process.cwd(), 'conf/fastcgi.conf'))} }`);
  const other = findProgram('nginx') === undefined ? undefined : await freePort(t);
  if (other !== undefined) await startNginx(t, site(other, php, '/etc/nginx/fastcgi.conf'));
  for (const [path, options = {}] of REQUESTS) {
    const seen = async (at: number): Promise<unknown> => {
      const { status, headers, body } = await get(at, path, options);
      const { 'content-type': type, location, 'set-cookie': cookies } = headers;
      return { status, type, location: location?.replace(`:${at}`, ''), cookies, body: body.replaceAll(OWN, '') };
    };
    const ours = (await seen(port)) as { status: number };
    t.not(ours.status, 502, path);
    if (other !== undefined) t.deepEqual(ours, (await seen(other)) as typeof ours, `${path} ${JSON.stringify(options).slice(0, 100)}`);
  }
});
