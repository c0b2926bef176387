import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { runSrv, startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { LOOP, WAIT } from './hostile-module.js';
import type { ExecutionContext } from 'ava';

/** A module whose locations do to the worker what their name says. */
const TROUBLE = plugin('trouble', {
  imports: `import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'; import { ServerInfo } from 'srv/module/server-info.js';`,
  manifest: `directives: { trouble: directive({ in: ['location'], args: text() }) }`,
  body: `
    static services = [ServerInfo];
    constructor(info) { this.info = info; }
    compile(scope) {
      const kind = scope.conf.trouble;
      if (this.info.role === 'worker' && existsSync(this.info.path('logs/wait'))) { rmSync(this.info.path('logs/wait')); ${WAIT} }
      return kind && { content: request => { this[kind](); return request.send(200, 'still here'); } };
    }
    throw() { setImmediate(() => { throw new Error('thrown on purpose'); }); }
    reject() { setImmediate(() => Promise.reject(new Error('rejected on purpose'))); }
    exit() { setImmediate(() => process.exit(3)); }
    memory() { setImmediate(() => { const all = []; for (;;) all.push(new Array(1e5).fill(Math.random())); }); }
    system() { setImmediate(() => { writeFileSync(this.info.path('logs/system'), ''); readFileSync(this.info.path('logs/fifo')); }); }
    wait() { writeFileSync(this.info.path('logs/wait'), ''); process.exit(3); }
    loop() { setImmediate(() => { writeFileSync(this.info.path('logs/loop'), ''); ${LOOP} }); }
    handler() { throw new Error('in the handler'); }`,
});

const conf = (workers: number, more = ''): string => `
worker_processes ${workers};
error_log logs/error.log notice;
${more}
load_module modules/trouble.js;
events {}
http {
  server {
    listen 127.0.0.1:%%PORT_web%%;
    location / { return 200 "fine"; }
    location /throw { trouble throw; }
    location /reject { trouble reject; }
    location /exit { trouble exit; }
    location /memory { trouble memory; }
    location /system { trouble system; }
    location /wait { trouble wait; }
    location /loop { trouble loop; }
    location /handler { trouble handler; }
  }
}`;

const start = (t: ExecutionContext, workers: number, more?: string): Promise<Srv> =>
  startSrv(t, conf(workers, more), { files: { 'modules/trouble.js': TROUBLE }, allowCrashes: true });

/** The response may still have left, or not. */
const provoke = (srv: Srv, path: string): Promise<unknown> => get(srv.port('web'), path).catch(() => undefined);

/** It responds, as soon as there is a worker again. */
async function serves(t: ExecutionContext, srv: Srv, body: string): Promise<void> {
  const answer = await waitFor('a worker', () => get(srv.port('web'), '/').catch(() => undefined));
  t.is(answer.body, body);
}

for (const [path, what] of [
  ['/throw', /\[alert\] \d+#\d+: worker 0: uncaught exception: Error: thrown on purpose/],
  ['/reject', /\[alert\] \d+#\d+: worker 0: uncaught rejection: Error: rejected on purpose/],
] as const) {
  test(`an error nobody caught is logged and costs one worker, which is replaced: ${path}`, async (t) => {
    const srv = await start(t, 1);
    await provoke(srv, path);
    await srv.waitForLog(what);
    await srv.waitForLog(/worker 0 \(thread \d+\) failed, its replacement is started now[^]*start worker 0, thread \d+/);
    await srv.waitForLog(/worker 0 exited with code 1/);
    await serves(t, srv, 'fine');
  });
}

test('a worker that failed serves until it is replaced, and finishes its requests', async (t) => {
  const held: (() => void)[] = [];
  const backend = await httpBackend(t, (_, response) => held.push(() => response.end('late')));
  const srv = await startSrv(
    t,
    conf(1).replace('location / {', `location /slow { proxy_pass http://127.0.0.1:${backend.port}; } location / {`),
    {
      files: { 'modules/trouble.js': TROUBLE },
      allowCrashes: true,
    },
  );
  const slow = get(srv.port('web'), '/slow');
  await waitFor('the request at the member', () => held.length === 1);
  for (let sent = 0; !srv.log().includes('gracefully shutting down'); sent++) {
    const path = sent < 20 ? '/throw' : '/';
    t.is((await get(srv.port('web'), path)).status, 200, `request ${sent}`);
  }
  for (const release of held) release();
  t.is((await slow).body, 'late');
});

test('a worker that ends by itself is replaced, and the replacement accepts connections soon', async (t) => {
  const began = performance.now();
  const srv = await start(t, 1);
  const started = performance.now() - began;
  await provoke(srv, '/exit');
  await srv.waitForLog(/worker 0 \(thread \d+\) exited with code 3/);
  const died = performance.now();
  await serves(t, srv, 'fine');
  // 300 ms on a machine that does nothing else. A busy one is slow in starting the server, too.
  t.true(performance.now() - died < 5000 + 3 * started);
  await srv.waitForLog(/worker 0 \(thread \d+\) exited with code 3[^]*start worker 0/);
});

test('a worker that runs out of memory is replaced, the others go on', async (t) => {
  const srv = await start(t, 2, 'worker_heap_size 48m;');
  const kept = await Promise.all(Array.from({ length: 16 }, () => connectRaw(t, srv.port('web'))));
  await provoke(srv, '/memory');
  await srv.waitForLog(/worker \d \(thread \d\) exited with code 1: .*memory/i);
  await srv.waitForLog(/exited with code 1[^]*start worker/);
  // Connections of the worker that lived are still served.
  for (const connection of kept) if (!connection.closed) connection.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.true(await waitFor('an answer on an old connection', () => kept.some(({ received }) => received.includes('fine'))));
});

test('a heap that is too small for the configuration is rejected at the start, in words', async (t) => {
  const places = Array.from({ length: 5000 }, (_, at) => `location /${at} { add_header X-At ${at}; return 204; }`);
  const large = `daemon off; worker_heap_size 32m; events {} http { server { listen 127.0.0.1:%%PORT_web%%; ${places.join(' ')} } }`;
  for (const args of [[], ['-t']]) {
    const small = await runSrv(t, args, large);
    t.is(small.code, 1);
    t.regex(
      small.stderr,
      /^srv: \[emerg\] a configuration of 150\d\d directives needs "worker_heap_size \d+m;" at least, workers have 32m$/m,
    );
  }
  t.regex((await runSrv(t, [], 'daemon off; worker_heap_size 31m; events {}')).stderr, /value must be equal to or greater than 32m in/);
});

test('what a handler throws is a 500 for that request and ends nothing', async (t) => {
  const srv = await start(t, 1);
  t.is((await get(srv.port('web'), '/handler')).status, 500);
  await srv.waitForLog(/in the handler/);
  t.is((await get(srv.port('web'), '/')).body, 'fine');
  t.notRegex(srv.log(), /exited/);
});

test('a replaced worker serves the configuration that is active, not that of the start', async (t) => {
  const srv = await start(t, 1);
  await srv.configure(conf(1).replace('"fine"', '"changed"'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await provoke(srv, '/throw');
  await serves(t, srv, 'changed');
});

test('a worker that was at work is replaced at once, however often it dies', async (t) => {
  const srv = await start(t, 1);
  for (let death = 1; death <= 8; death++) {
    await waitFor('a worker to kill', () => get(srv.port('web'), '/exit').catch(() => undefined));
    await srv.waitForLog(new RegExp(`(exited with code 3[^]*){${death}}`));
  }
  await serves(t, srv, 'fine');
  // That is the line of a replacement that waits.
  t.notRegex(srv.log(), /started again in/);
});

test('workers that die before they have served anything are started more and more slowly, and the server lives', async (t) => {
  const files = {
    'modules/mortal.js': plugin('mortal', {
      body: `start(role) { if (role === 'worker') setTimeout(() => process.exit(4), 20); }`,
    }),
  };
  const srv = await startSrv(
    t,
    conf(1)
      .replace('trouble.js', 'mortal.js')
      .replace(/location \/\w+ \{ trouble.*/g, ''),
    {
      files,
      allowCrashes: true,
    },
  );
  await srv.waitForLog(/exited with code 4\n[^]*started again in 100 ms[^]*started again in 200 ms[^]*started again in 400 ms/);
  t.true(srv.running);
});

test('a worker that hangs is replaced; one that hangs does not keep the server from ending', async (t) => {
  const [replaced, ended] = await Promise.all([start(t, 1), start(t, 1)]);
  for (const srv of [replaced, ended]) {
    const hanging = await connectRaw(t, srv.port('web'));
    hanging.send('GET /loop HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('the loop', () => existsSync(srv.path('logs/loop')));
  }
  ended.signal('SIGQUIT');
  await waitFor('a replacement', () => /worker 0 is replaced: it hangs[^]*start worker 0/.test(replaced.log()), 30_000);
  await serves(t, replaced, 'fine');
  t.is((await ended.exited).signal, null);
  t.regex(ended.log(), /worker 0 is cut off: it hangs/);
});

test('a worker that hangs while it starts is ended, and another one is started; it does not keep the server from ending', async (t) => {
  const [replaced, ended] = await Promise.all([start(t, 1), start(t, 1)]);
  for (const srv of [replaced, ended]) {
    await provoke(srv, '/wait');
    await srv.waitForLog(/exited with code 3[^]*start worker 0/);
    await waitFor('the replacement to hang', () => !existsSync(srv.path('logs/wait')));
  }
  ended.signal('SIGQUIT');
  await waitFor('another one', () => /worker 0 is replaced: it hangs[^]*start worker 0/.test(replaced.log()), 40_000);
  await serves(t, replaced, 'fine');
  t.is((await ended.exited).signal, null);
  t.regex(ended.log(), /worker 0 is cut off: it hangs/);
});

test('a worker that hangs in a call of the system is given up, and does not keep the server from ending', async (t) => {
  const srv = await start(t, 1);
  execFileSync('mkfifo', [srv.path('logs/fifo')]);
  await provoke(srv, '/system');
  await waitFor('the call', () => existsSync(srv.path('logs/system')));
  await waitFor('another one', () => /worker 0 \(thread \d+\) cannot be ended[^]*start worker 0/.test(srv.log()), 40_000);
  t.is((await srv.stop('SIGQUIT')).signal, 'SIGKILL');
  t.regex(srv.log(), /\[notice\] .*exit\n$/);
});

test('every worker takes part of the connections', async (t) => {
  const files = {
    'modules/which.js': plugin('which', {
      imports: `import { ServerInfo } from 'srv/module/server-info.js';`,
      manifest: `directives: { which: directive({ in: ['location'], args: text() }) }`,
      body: `
        static services = [ServerInfo];
        constructor(info) { this.info = info; }
        compile(scope) { return scope.conf.which && { content: request => request.send(200, String(this.info.worker)) }; }`,
    }),
  };
  const srv = await startSrv(
    t,
    'worker_processes 3; load_module modules/which.js; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { which x; } } }',
    { files },
  );
  const seen = new Set<string>();
  await waitFor('all workers', async () => seen.add((await get(srv.port('web'), '/')).body).size === 3);
  t.deepEqual([...seen].sort(), ['0', '1', '2']);
});

test('a unix socket is served, although only one thread can bind it', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('x'));
  const srv = await startSrv(
    t,
    `worker_processes 2; events {} http { server { listen unix:run.sock; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  for (let i = 0; i < 4; i++) {
    const connection = await connectRaw(t, srv.path('run.sock'));
    connection.send('GET / HTTP/1.0\r\n\r\n');
    t.regex(await connection.receiveAll(), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nx$/);
  }
});
