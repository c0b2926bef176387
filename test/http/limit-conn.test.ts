import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv, type Srv, type SrvOptions } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { get as getHttp2, PREFACE, settings, windowUpdate } from '../http2/frames.js';
import { Wire } from '../http2/wire.js';

interface Stage {
  readonly srv: Srv;
  /** Begins a request that its backend does not respond to, and resolves when the backend has it. */
  begin(path: string): Promise<RawConnection>;
  /** Responds to all that wait. */
  answer(): void;
}

/** Two workers, and a backend that responds when it is told to. */
async function serve(
  t: ExecutionContext,
  locations: string,
  { main = '', ...options }: SrvOptions & { main?: string } = {},
): Promise<Stage> {
  let requests = 0;
  const waiting = new Set<() => void>();
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', () => {
      requests++;
      waiting.add(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    });
  });
  const srv = await startSrv(
    t,
    `${main} worker_processes 2;
    error_log logs/error.log info;
    events {}
    http {
      limit_conn_zone $arg_k zone=key:1m;
      limit_conn_zone $server_port zone=server:1m;
      log_format status '$status $limit_conn_status';
      server {
        listen 127.0.0.1:%%PORT_web%%;
        access_log logs/status.log status;
        location /wait { proxy_pass http://127.0.0.1:${backend.port}; }
        location /free { stub_status; }
        ${locations.replaceAll('%%BACKEND%%', `http://127.0.0.1:${backend.port}`)}
      }
    }`,
    options,
  );
  return {
    srv,
    async begin(path) {
      const before = requests;
      const connection = await connectRaw(t, srv.port('web'));
      connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await waitFor('the request at the backend', () => requests > before);
      return connection;
    },
    answer() {
      for (const answer of waiting) answer();
      waiting.clear();
    },
  };
}

const LIMITED = 'location / { limit_conn key 2; proxy_pass %%BACKEND%%; }';
const status = async ({ srv }: Stage, path: string): Promise<number> => (await get(srv.port('web'), path)).status;

test('as many connections as the limit, over all workers; further requests get 503', async (t) => {
  const stage = await serve(t, LIMITED);
  const held = [await stage.begin('/?k=a'), await stage.begin('/?k=a')];
  for (let times = 0; times < 4; times++) t.is(await status(stage, '/?k=a'), 503);
  const other = await stage.begin('/?k=b');
  const unlimited = [await stage.begin('/'), await stage.begin('/'), await stage.begin('/')];
  await stage.srv.waitForLog(/\[error\] .*limiting connections by zone "key", client: 127\.0\.0\.1, server: /);
  stage.answer();
  for (const connection of [...held, other, ...unlimited]) await connection.receive(/ok$/);
  await stage.srv.waitForLog(/^200 PASSED$/m, 'logs/status.log');
  await stage.srv.waitForLog(/^503 REJECTED$/m, 'logs/status.log');
  await stage.srv.waitForLog(/^200 -$/m, 'logs/status.log');
});

test('a finished request is not counted any more, although its connection stays', async (t) => {
  const stage = await serve(t, LIMITED);
  for (let round = 0; round < 3; round++) {
    const held = [await stage.begin('/?k=a'), await stage.begin('/?k=a')];
    t.is(await status(stage, '/?k=a'), 503);
    stage.answer();
    for (const connection of held) await connection.receive(/ok$/);
  }
});

test('a response that waits for its client is counted until it is sent', async (t) => {
  const whole = plugin('whole', {
    manifest: `directives: { whole: directive({ in: ['location'] }) }`,
    body: `compile(scope) { return scope.conf.whole ? { content: (request) => request.send(200, Buffer.alloc(request.args.length > 3 ? 2 : 20_000_000)) } : undefined; }`,
  });
  const stage = await serve(t, 'http2 on; location / { limit_conn key 1; whole; }', {
    files: { 'modules/whole.js': whole },
    main: 'load_module modules/whole.js;',
  });
  const port = stage.srv.port('web');
  const slow = await connectRaw(t, port);
  slow.send('GET /?k=a HTTP/1.1\r\nHost: a\r\n\r\n');
  await slow.receive(/^HTTP/);
  slow.socket.pause();
  const closed = await Wire.open(t, port, PREFACE + settings([4, 0]) + getHttp2(1, '/?k=b&small'));
  await closed.tells(/1: 200/);
  for (const key of ['a', 'b']) t.is(await status(stage, `/?k=${key}&small`), 503, key);
  t.is(stage.srv.read('logs/status.log').match(/^200/gm), null, 'nor in the log');
  slow.socket.resume();
  closed.send(windowUpdate(1, 2));
  for (const key of ['a', 'b']) await waitFor('the end of the response', async () => (await status(stage, `/?k=${key}&small`)) === 200);
  slow.socket.destroy();
});

test('a client that leaves is not counted any more', async (t) => {
  const stage = await serve(t, LIMITED);
  const held = [await stage.begin('/?k=a'), await stage.begin('/?k=a')];
  t.is(await status(stage, '/?k=a'), 503);
  for (const { socket } of held) socket.destroy();
  await stage.srv.waitForLog(/^499 PASSED\n499 PASSED$/m, 'logs/status.log');
  await stage.begin('/?k=a');
  await stage.begin('/?k=a');
  t.is(await status(stage, '/?k=a'), 503);
});

test('it ends with the request, also in another location that has no limit', async (t) => {
  const stage = await serve(t, 'location / { limit_conn key 1; error_page 403 = /free; deny all; }');
  // A client may have its response a moment before its request is over.
  for (let times = 0; times < 4; times++) await waitFor('the end of the last one', async () => (await status(stage, '/?k=a')) === 200);
  t.pass();
});

test('several limits: what one of them rejects holds none of the others', async (t) => {
  const stage = await serve(
    t,
    `location / { limit_conn key 3; limit_conn server 1; proxy_pass %%BACKEND%%; }
     location /key { limit_conn key 3; proxy_pass %%BACKEND%%; }`,
  );
  await stage.begin('/?k=a');
  for (let times = 0; times < 4; times++) t.is(await status(stage, '/?k=a'), 503);
  await stage.srv.waitForLog(/limiting connections by zone "server"/);
  await stage.begin('/key?k=a');
  await stage.begin('/key?k=a');
  t.is(await status(stage, '/key?k=a'), 503);
});

test('limit_conn_status, limit_conn_log_level, limit_conn_dry_run', async (t) => {
  const stage = await serve(
    t,
    `location /status { limit_conn key 1; limit_conn_status 429; limit_conn_log_level info; proxy_pass %%BACKEND%%; }
     location /dry { limit_conn key 1; limit_conn_dry_run on; proxy_pass %%BACKEND%%; }`,
  );
  await stage.begin('/status?k=a');
  t.is(await status(stage, '/status?k=a'), 429);
  await stage.srv.waitForLog(/\[info\] .*limiting connections by zone "key"/);
  const dry = await stage.begin('/dry?k=a');
  await stage.srv.waitForLog(/\[error\] .*limiting connections, dry run, by zone "key"/);
  stage.answer();
  await dry.receive(/ok$/);
  await stage.srv.waitForLog(/^200 REJECTED_DRY_RUN$/m, 'logs/status.log');
});

test('what a worker held when it died is released', async (t) => {
  const crash = plugin('crash', {
    manifest: `directives: { crash: directive({ in: ['location'] }) }`,
    body: `compile(scope) {
      return scope.conf.crash ? { content: () => { setImmediate(() => process.exit(3)); return -2; } } : undefined;
    }`,
  });
  const stage = await serve(t, `${LIMITED} location /crash { crash; }`, {
    files: { 'modules/crash.js': crash },
    main: 'load_module modules/crash.js;',
    allowCrashes: true,
  });
  const connections = [await stage.begin('/?k=a'), await stage.begin('/?k=a')];
  t.is(await status(stage, '/?k=a'), 503);
  await waitFor('the end of both', async () => {
    const client = await connectRaw(t, stage.srv.port('web')).catch(() => undefined);
    if (client === undefined) return false;
    client.send('GET /crash HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('the end of the connection', () => client.closed);
    return connections.every(({ closed }) => closed);
  });
  // Both workers may be gone at this moment.
  await waitFor('a worker', () => status(stage, '/free').catch(() => undefined));
  await stage.begin('/?k=a');
  await stage.begin('/?k=a');
  t.is(await status(stage, '/?k=a'), 503);
});

for (const [line, error] of [
  ['limit_conn key 0;', 'invalid number of connections "0"'],
  ['limit_conn key 65536;', 'connection limit must be less 65536'],
  ['limit_conn key;', 'invalid number of arguments in "limit_conn" directive'],
  ['limit_conn none 1;', 'zero size shared memory zone "none"'],
  ['limit_conn key 5; limit_conn key 6;', '"limit_conn" directive is duplicate'],
] as const)
  test(`rejected: ${line}`, async (t) => {
    const run = await check(t, `events {} http { limit_conn_zone $uri zone=key:1m; server { listen 127.0.0.1:%%PORT_web%%; ${line} } }`);
    t.is(run.code, 1);
    t.true(run.stderr.includes(`[emerg] ${error} in `), run.stderr);
  });
