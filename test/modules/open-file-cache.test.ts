import { appendFileSync, readdirSync, readlinkSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { connectRaw, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const COUNT = 20;
const FILES = Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [`html/many/${at}.txt`, `file ${at}`]));

function start(t: Scope, allowCrashes = false): Promise<Srv> {
  return startSrv(
    t,
    `worker_processes 1; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      location /plain/ { alias html/; }
      location /long/ { alias html/; open_file_cache max=100 inactive=1h; open_file_cache_valid 1h; }
      location /short/ { alias html/; open_file_cache max=100; open_file_cache_valid 300ms; open_file_cache_errors on; }
      location /few/ { alias html/; open_file_cache max=3 inactive=1h; }
      location /used/ { alias html/; open_file_cache max=100 inactive=1h; open_file_cache_min_uses 3; }
      location /idle/ { alias html/; open_file_cache max=100 inactive=2s; }
      location /errors/ { alias html/; open_file_cache max=100; open_file_cache_errors on; }
      location /index/ { alias html/; open_file_cache max=100; index none.html page.txt; }
      location /tried/ { alias html/; open_file_cache max=100; try_files $uri.txt =404; }
    } }`,
    { files: { ...FILES, 'html/page.txt': 'first', 'html/settled.txt': 'first', 'html/large.bin': 'x'.repeat(8_000_000) }, allowCrashes },
  );
}

const site = shared((scope) => start(scope));

const body = async (srv: Srv, path: string): Promise<string> => {
  const response = await get(srv.port('web'), path);
  return response.status === 200 ? response.body : String(response.status);
};

/** Puts a file of another content, of the same length, in its place. */
function replace(srv: Srv, path: string, content: string): void {
  writeFileSync(srv.path(`${path}.new`), content);
  renameSync(srv.path(`${path}.new`), srv.path(path));
}

test('a changed file is served again at once without a cache, and after open_file_cache_valid with one', async (t) => {
  const srv = await site();
  for (const path of ['/plain', '/long', '/short', '/tried', '/index']) {
    const request = path === '/tried' ? '/tried/page' : path === '/index' ? '/index/' : `${path}/page.txt`;
    t.is(await body(srv, request), 'first', path);
  }
  replace(srv, 'html/page.txt', 'other');
  t.is(await body(srv, '/plain/page.txt'), 'other');
  t.is(await body(srv, '/long/page.txt'), 'first');
  t.is(await body(srv, '/index/'), 'first');
  t.is(await body(srv, '/tried/page'), 'first');
  await waitFor('the other file', async () => (await body(srv, '/short/page.txt')) === 'other');
  rmSync(srv.path('html/page.txt'));
  t.is(await body(srv, '/plain/page.txt'), '404');
  t.is(await body(srv, '/long/page.txt'), 'first');
  await waitFor('its end', async () => (await body(srv, '/short/page.txt')) === '404');
  replace(srv, 'html/page.txt', 'third');
  await waitFor('a file where an error was kept', async () => (await body(srv, '/short/page.txt')) === 'third');
});

test('small files that have not changed for a while are kept in memory, until they are found changed', async (t) => {
  const srv = await site();
  const path = srv.path('html/settled.txt');
  utimesSync(path, 1_000_000_000, 1_000_000_000);
  const { ctimeMs } = statSync(path);
  await waitFor('a file that is old enough', () => Date.now() - ctimeMs > 2100);
  for (const cache of ['/long', '/short']) t.is(await body(srv, `${cache}/settled.txt`), 'first');
  // In place, with the time and the length it had.
  writeFileSync(path, 'other');
  utimesSync(path, 1_000_000_000, 1_000_000_000);
  t.is(await body(srv, '/long/settled.txt'), 'first');
  t.is((await get(srv.port('web'), '/long/settled.txt', { headers: { Range: 'bytes=1-2' } })).body, 'ir');
  t.is(await body(srv, '/plain/settled.txt'), 'other');
  await waitFor('the other content', async () => (await body(srv, '/short/settled.txt')) === 'other');
});

test('errors are kept with open_file_cache_errors', async (t) => {
  const srv = await site();
  for (const path of ['/errors/new.txt', '/long/new.txt']) t.is(await body(srv, path), '404');
  writeFileSync(srv.path('html/new.txt'), 'new');
  t.is(await body(srv, '/errors/new.txt'), '404');
  t.is(await body(srv, '/long/new.txt'), 'new');
});

/** How many of the files the server has open: connections, and whatever else is open, do not count. */
function openFiles(srv: Srv): number {
  const descriptors = `/proc/${srv.pid}/fd`;
  const folder = `${srv.path('html/many')}/`;
  return readdirSync(descriptors).filter((fd) => {
    try {
      return readlinkSync(`${descriptors}/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}

/** Asks for each of the files as often, and says how many of them are open then. */
async function openAfter(srv: Srv, path: string, times: number): Promise<number> {
  for (let time = 0; time < times; time++) for (const name of Object.keys(FILES)) await body(srv, path + name.slice('html'.length));
  return openFiles(srv);
}

test('descriptors are kept for as many files as max says, and for those of min_uses', async (t) => {
  const srv = await start(t);
  await openAfter(srv, '/plain', 2);
  await waitFor('closed files', () => openFiles(srv) === 0);
  await openAfter(srv, '/few', 2);
  await waitFor('all but three closed files', () => openFiles(srv) === 3);
  await openAfter(srv, '/used', 2);
  await waitFor('the three again', () => openFiles(srv) === 3);
  t.is(await openAfter(srv, '/used', 1), COUNT + 3);
});

test('what is not used for a while is closed', async (t) => {
  const srv = await start(t);
  await Promise.all(Object.keys(FILES).map((name) => body(srv, `/idle${name.slice('html'.length)}`)));
  t.true(openFiles(srv) > 0);
  await waitFor('closed files', async () => {
    await body(srv, '/idle/page.txt');
    return openFiles(srv) === 0;
  });
});

test('a reload closes what no configuration uses any more', async (t) => {
  const srv = await start(t);
  t.is(await openAfter(srv, '/long', 1), COUNT);
  await srv.configure('worker_processes 1; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location /plain/ { alias html/; } } }');
  srv.signal('SIGHUP');
  await waitFor('closed files', () => openFiles(srv) === 0);
});

test('a file that leaves the cache while it is sent is sent to its end', async (t) => {
  const srv = await start(t);
  const client = await connectRaw(t, srv.port('web'));
  client.socket.pause();
  client.send('GET /few/large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await waitFor('the file', () => client.socket.readableLength > 0);
  rmSync(srv.path('html/large.bin'));
  for (const name of Object.keys(FILES)) await body(srv, `/few${name.slice('html'.length)}`);
  client.socket.resume();
  const received = await client.receiveAll();
  t.is(received.length - received.indexOf('\r\n\r\n') - 4, 8_000_000);
});

test('what is kept of a file that becomes shorter or longer stays consistent', async (t) => {
  const srv = await start(t, true);
  t.is((await get(srv.port('web'), '/long/large.bin')).body.length, 8_000_000);
  appendFileSync(srv.path('html/large.bin'), 'more');
  t.is((await get(srv.port('web'), '/long/large.bin')).body.length, 8_000_000);
  truncateSync(srv.path('html/large.bin'), 1000);
  await t.throwsAsync(get(srv.port('web'), '/long/large.bin'));
  await srv.waitForLog(/\[alert\].*pread\(\) read only 0 of \d+ bytes/);
  t.is((await get(srv.port('web'), '/plain/large.bin')).body.length, 1000);
});

test('open_file_cache needs max', async (t) => {
  const { errors } = await checkLine(t, 'open_file_cache inactive=1s;');
  t.regex(errors, /"open_file_cache" must have the "max" parameter/);
  t.is((await checkLine(t, 'open_file_cache off;')).errors, '');
});

async function checkLine(t: ExecutionContext, line: string): Promise<{ errors: string }> {
  const { code, stderr } = await check(t, `events {} http { ${line} server { } }`);
  return { errors: code === 0 ? '' : stderr };
}
