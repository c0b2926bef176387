import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { fastcgiBackend, response } from '../harness/fastcgi-backend.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { patternStream } from './byte-streams.js';
import { ask, LENGTH } from './slow-clients.js';

test('responses are saved as files when they are complete, with date and permissions', async (t) => {
  const backend = await httpBackend(t, ({ url = '', method }, response) => {
    response.statusCode = url.includes('missing') ? 404 : 200;
    response.setHeader('Last-Modified', 'Tue, 02 Jan 2024 03:04:05 GMT');
    if (url.includes('broken')) {
      response.setHeader('Content-Length', 5000);
      response.write('x'.repeat(1000), () => response.destroy());
    } else if (url.includes('long')) pipeline(patternStream(LENGTH), response).catch(() => undefined);
    else response.end(`${method} ${url}`);
  });
  const srv = await startSrv(
    t,
    `worker_processes 1; error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { root files; proxy_store on; proxy_store_access group:rw all:r; gzip on; gzip_types *; proxy_pass http://127.0.0.1:${backend.port}; }
      location /named { proxy_store store/x$arg_p; proxy_pass http://127.0.0.1:${backend.port}; }
      location /off { proxy_pass http://127.0.0.1:${backend.port}; }
    } }`,
  );
  const port = srv.port('web');
  const stored = (path: string): Promise<unknown> => waitFor(path, () => existsSync(srv.path(path)));
  t.is((await get(port, '/a/b/page?x=y', { headers: { 'accept-encoding': 'gzip' } })).status, 200);
  t.is((await get(port, '/posted', { method: 'POST', body: 'b' })).body, 'POST /posted');
  t.is((await get(port, '/missing')).status, 404);
  await get(port, '/head', { method: 'HEAD' });
  await get(port, '/folder/');
  await get(port, '/named?p=1/2');
  await get(port, '/named?p=/../../out');
  await get(port, '/off');
  await t.throwsAsync(get(port, '/broken'));
  for (const path of ['files/a/b/page', 'files/posted', 'store/x1/2']) await stored(path);
  t.is(readFileSync(srv.path('files/a/b/page'), 'utf8'), 'GET /a/b/page?x=y');
  const { mode, mtimeMs } = statSync(srv.path('files/a/b/page'));
  t.is(mode & 0o777, 0o664);
  t.is(mtimeMs, Date.UTC(2024, 0, 2, 3, 4, 5));
  t.is(statSync(srv.path('store/x1/2')).mode & 0o777, 0o600);
  (await ask(t, port, '/long')).destroy();
  await waitFor(
    'the response whose client has left',
    () => existsSync(srv.path('files/long')) && statSync(srv.path('files/long')).size === LENGTH,
  );
  await srv.waitForLog(/\[error\] .* the response is not stored: "store\/x\/\.\.\/\.\.\/out" is not the path of a file/);
  await srv.waitForLog(/\[error\] .* upstream prematurely closed connection while reading upstream, .*\/broken/);
  t.deepEqual(readdirSync(srv.path('files')).sort(), ['a', 'long', 'posted']);
  await waitFor('the end of the temporary files', () => readdirSync(srv.path('proxy_temp')).length === 0);
  t.is(srv.log().match(/\[(error|crit)\] .*\/broken/g)?.length, 1, 'a response that is cut off is logged once');
});

test('responses of FastCGI applications are saved as well', async (t) => {
  const backend = await fastcgiBackend(t, ({ params }) => ({
    bytes:
      params['SCRIPT_NAME'] === '/short' ? response('Content-Length: 50\r\n\r\nhello') : response('Content-Type: text/plain\r\n\r\nhello'),
  }));
  const srv = await startSrv(
    t,
    `worker_processes 1; error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; fastcgi_store_access user:rw group:r; fastcgi_param SCRIPT_NAME $uri;
      location / { fastcgi_store store$uri; fastcgi_pass 127.0.0.1:${backend.port}; }
      location /off { fastcgi_pass 127.0.0.1:${backend.port}; }
    } }`,
  );
  for (const path of ['/a/b', '/off', '/c']) t.is((await get(srv.port('web'), path)).body, 'hello');
  await t.throwsAsync(get(srv.port('web'), '/short'));
  for (const path of ['store/a/b', 'store/c']) await waitFor(path, () => existsSync(srv.path(path)));
  t.is(readFileSync(srv.path('store/a/b'), 'utf8'), 'hello');
  t.is(statSync(srv.path('store/a/b')).mode & 0o777, 0o640);
  await waitFor('the end of the temporary files', () => readdirSync(srv.path('fastcgi_temp')).length === 0);
  t.deepEqual(readdirSync(srv.path('store')).sort(), ['a', 'c']);
});

test('a file that cannot be written is logged, and the client gets its response', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('hello'));
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_store file/$arg_name; proxy_pass http://127.0.0.1:${backend.port}; } } }`,
    { files: { file: 'not a folder' } },
  );
  t.is((await get(srv.port('web'), '/?name=a')).body, 'hello');
  await srv.waitForLog(
    /\[crit\] .* storing the response in "\/.*\/file\/a" failed \((17: File exists|20: not a directory)\) while reading upstream/i,
  );
});

test('proxy_store_access takes what nginx takes', async (t) => {
  const verdict = async (line: string): Promise<string> =>
    (await check(t, `events {} http { server { listen 127.0.0.1:%%PORT_a%%; location / { ${line} } } }`)).stderr;
  for (const name of ['proxy_store_access', 'fastcgi_store_access']) {
    t.regex(await verdict(`${name} user:rw all:r group:r;`), /successful/);
    for (const value of ['foo:r', 'user', 'user:x', 'user:rw:r'])
      t.true((await verdict(`${name} ${value};`)).includes(`invalid value "${value}"`), value);
  }
  t.regex(await verdict('proxy_store on; proxy_store off;'), /"proxy_store" directive is duplicate/);
});
