import { existsSync, mkdirSync, renameSync } from 'node:fs';
import test from 'ava';
import { connectRaw, exchange, get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** A location whose upstream nobody serves: every request makes an error line. */
const dead = (port: number): string => `proxy_pass http://127.0.0.1:${port};`;

test('a line looks like those of nginx, with the request and its id', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(
    t,
    `events {} http { server { server_name shop.test; listen 127.0.0.1:%%PORT_web%%; location / { ${dead(port)} add_header X-Id $request_id always; } } }`,
  );
  const { status, headers } = await get(srv.port('web'), '/a?b=c', { headers: { host: 'shop.test' } });
  t.is(status, 502);
  const [line] = await srv.waitForLog(/.*while connecting to upstream.*/);
  t.regex(line, /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d \[error\] \d+#\d+: \*\d+ .* while connecting to upstream, /);
  t.true(line.includes(', client: 127.0.0.1, server: shop.test, request: "GET /a?b=c HTTP/1.1"'), line);
  t.true(line.includes(`, host: "shop.test", request_id: ${String(headers['x-id'])}`), line);
});

test('what a client sends can neither break a line nor drive a terminal', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(t, `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${dead(port)} } } }`);
  await exchange(t, srv.port('web'), 'GET /"\x9b31m HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const [line] = await srv.waitForLog(/.*while connecting to upstream.*/);
  t.true(line.includes('request: "GET /\\x22\\x9B31m HTTP/1.1"'), line);
});

test('levels, several files, and a level of its own for each', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(
    t,
    `error_log logs/all.log info; error_log logs/bad.log error; error_log logs/worst.log crit;
     events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${dead(port)} } } }`,
  );
  await get(srv.port('web'), '/');
  await srv.waitForLog(/while connecting to upstream/, 'logs/all.log');
  await srv.waitForLog(/while connecting to upstream/, 'logs/bad.log');
  t.regex(srv.read('logs/all.log'), /\[notice\].*start worker/);
  t.regex(srv.read('logs/bad.log'), /^.*\[error\].*while connecting to upstream.*\n$/);
  t.is(srv.read('logs/worst.log'), '');
});

test('http, server and location may have their own', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(
    t,
    `error_log logs/main.log;
     events {}
     http {
       server { listen 127.0.0.1:%%PORT_a%%; location / { ${dead(port)} } location /own { error_log logs/location.log; ${dead(port)} } }
       server { listen 127.0.0.1:%%PORT_b%%; error_log logs/server.log; location / { ${dead(port)} } }
     }`,
  );
  await get(srv.port('a'), '/1');
  await get(srv.port('a'), '/own/2');
  await get(srv.port('b'), '/3');
  await srv.waitForLog(/GET \/1 /, 'logs/main.log');
  await srv.waitForLog(/GET \/own\/2 /, 'logs/location.log');
  await srv.waitForLog(/GET \/3 /, 'logs/server.log');
  t.notRegex(srv.read('logs/main.log'), /GET \/(own|3)/);
});

test('a folder that is missing is an error of the configuration', async (t) => {
  const { code, stderr, prefix } = await runSrv(t, ['-t'], 'error_log nowhere/error.log;\nevents {}\n');
  t.is(code, 1);
  t.true(
    stderr.includes(`[emerg] open() "${prefix}/nowhere/error.log" failed (2: No such file or directory) in ${prefix}/conf/srv.conf:1\n`),
    stderr,
  );
});

test('a reload brings another error log into force', async (t) => {
  const port = await freePort(t);
  const conf = (log: string): string =>
    `error_log logs/${log} notice; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${dead(port)} } } }`;
  const srv = await startSrv(t, conf('one.log'));
  await srv.configure(conf('two.log'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/, 'logs/two.log');
  await get(srv.port('web'), '/');
  await srv.waitForLog(/while connecting to upstream/, 'logs/two.log');
  t.notRegex(srv.read('logs/one.log'), /while connecting to upstream/);
});

test('stderr is a log as well', async (t) => {
  const srv = await startSrv(t, 'error_log stderr notice;\nevents {}\n');
  await srv.stop();
  t.regex(srv.stderr, /\[notice\] \d+#0: start worker 0/);
});

test('without an error log that can be opened, messages go to stderr', async (t) => {
  const srv = await startSrv(t, 'error_log stderr;\nevents {}\n', { args: ['-e', '/proc/nowhere/error.log'], allowCrashes: true });
  await waitFor('the message', () => srv.stderr !== '');
  t.regex(srv.stderr, /^srv: \[alert\] could not open error log file: .*\/proc\/nowhere/);
  t.true(srv.running);
});

test('a log file that cannot be opened again goes on in the old one', async (t) => {
  const srv = await startSrv(t, 'error_log logs/error.log notice;\nevents {}\n', { allowCrashes: true });
  renameSync(srv.path('logs'), srv.path('moved'));
  srv.signal('SIGUSR1');
  await srv.waitForLog(/\[emerg\] .*open\(\) ".*\/logs\/error\.log" failed \(2: No such file or directory\)/, 'moved/error.log');
  t.false(existsSync(srv.path('logs/error.log')));
  mkdirSync(srv.path('logs'));
  srv.signal('SIGUSR1');
  t.true(await waitFor('the new file', () => existsSync(srv.path('logs/error.log'))));
});

test('a connection that is served while nobody reads stderr does not stop', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(
    t,
    `error_log stderr; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${dead(port)} } } }`,
  );
  const connection = await connectRaw(t, srv.port('web'));
  for (let i = 0; i < 200; i++) connection.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.true(await waitFor('200 answers', () => connection.received.split('HTTP/1.1 502').length === 201));
});
