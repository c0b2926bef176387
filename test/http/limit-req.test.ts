import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedScope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const ZONES = 'limit_req_zone $arg_k zone=one:1m rate=1r/m; limit_req_zone $arg_k zone=fast:1m rate=10r/s;';

/** Two workers. Locations that let a request pass respond with 200. */
function serve(t: ExecutionContext, locations: string, zones = ZONES): Promise<Srv> {
  return startSrv(
    t,
    `worker_processes 2;
    error_log logs/error.log info;
    events {}
    http {
      ${zones}
      server { listen 127.0.0.1:%%PORT_web%%; ${locations} }
    }`,
  );
}

/** For tests that have a location and a key of their own, and look for their lines of the logs. */
const shared = sharedScope((scope) =>
  startSrv(
    scope,
    `worker_processes 2;
    error_log logs/error.log info;
    events {}
    http {
      ${ZONES} limit_req_zone $arg_h zone=host:1m rate=1r/m;
      log_format status '$uri $status $limit_req_status';
      server {
        listen 127.0.0.1:%%PORT_web%%; access_log logs/status.log status;
        location /plain { limit_req zone=one; stub_status; }
        location /nodelay { limit_req zone=one burst=3 nodelay; stub_status; }
        location /many { limit_req zone=one burst=20 nodelay; stub_status; }
        location /burst { limit_req zone=fast burst=5; stub_status; }
        location /delay { limit_req zone=one burst=3 delay=2; stub_status; }
        location /leaves { limit_req zone=one burst=3; stub_status; }
        location /both { limit_req zone=one burst=2 nodelay; limit_req zone=host; stub_status; }
        location /one { limit_req zone=one burst=2 nodelay; stub_status; }
        location /status { limit_req zone=one; limit_req_status 429; limit_req_log_level notice; stub_status; }
        location /dry { limit_req zone=one; limit_req_dry_run on; stub_status; }
        location /slow { limit_req zone=one burst=5; limit_req_dry_run on; stub_status; }
      }
      server {
        listen 127.0.0.1:%%PORT_redirects%%; limit_req zone=one burst=1 nodelay;
        location /a { error_page 403 = /b; deny all; }
        location /b { stub_status; }
      }
    }`,
  ),
);

/** Statuses of requests made one after the other, each on a connection of its own, so that they fall on any worker. */
async function statuses(port: number, path: string, count: number): Promise<string> {
  const all: number[] = [];
  while (all.length < count) all.push((await get(port, path)).status);
  return all.join(' ');
}

/** Brings another configuration into force, and waits until it is. */
async function reload(srv: Srv, conf: string): Promise<void> {
  const count = (): number => srv.log().split('reconfigured').length;
  const before = count();
  await srv.configure(conf);
  srv.signal('SIGHUP');
  await waitFor('the reload', () => count() > before);
}

test('one request is allowed, the next ones are rejected by whichever worker; every key has its own', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  t.is(await statuses(port, '/plain?k=a', 6), '200 503 503 503 503 503');
  t.is(await statuses(port, '/plain?k=b', 2), '200 503');
  t.is(await statuses(port, '/plain', 4), '200 200 200 200', 'no key, no limit');
  await srv.waitForLog(
    /\[error\] .*limiting requests, excess: \d+\.\d{3} by zone "one", client: 127\.0\.0\.1, server: .*"GET \/plain\?k=a /,
  );
  await srv.waitForLog(/^\/plain 200 PASSED$/m, 'logs/status.log');
  await srv.waitForLog(/^\/plain 503 REJECTED$/m, 'logs/status.log');
  await srv.waitForLog(/^\/plain 200 -$/m, 'logs/status.log');
});

test('burst with nodelay: so many more, all at once', async (t) => {
  t.is(await statuses((await shared()).port('web'), '/nodelay?k=nodelay', 6), '200 200 200 200 503 503');
});

test('many clients at once: the limit is exact over the workers', async (t) => {
  const port = (await shared()).port('web');
  const answers = await Promise.all(Array.from({ length: 60 }, () => get(port, '/many?k=many')));
  t.is(answers.filter(({ status }) => status === 200).length, 21);
});

test('burst delays, and the level is one lower', async (t) => {
  const srv = await shared();
  const start = performance.now();
  const answers = await Promise.all(Array.from({ length: 5 }, () => get(srv.port('web'), '/burst?k=burst')));
  t.true(answers.every(({ status }) => status === 200));
  t.true(performance.now() - start >= 395, 'the last of them has waited for 4 turns of 100 ms');
  await srv.waitForLog(/\[warn\] .*delaying request, excess: \d\.\d{3}, by zone "fast", client: .*"GET \/burst/);
  await srv.waitForLog(/^\/burst 200 DELAYED$/m, 'logs/status.log');
});

test('delay: the first ones of the burst are not delayed', async (t) => {
  const srv = await shared();
  t.is(await statuses(srv.port('web'), '/delay?k=delay', 3), '200 200 200');
  const fourth = await connectRaw(t, srv.port('web'));
  fourth.send('GET /delay?k=delay HTTP/1.1\r\nHost: a\r\n\r\n');
  await srv.waitForLog(/delaying request, excess: (3\.000|2\.\d{3}), by zone "one", client: .*"GET \/delay/);
  t.is(fourth.received, '');
  t.is(await statuses(srv.port('web'), '/delay?k=delay', 1), '503');
});

test('a client that leaves while it is delayed is a 499', async (t) => {
  const srv = await shared();
  t.is(await statuses(srv.port('web'), '/leaves?k=leaves', 1), '200');
  const waiting = await connectRaw(t, srv.port('web'));
  waiting.send('GET /leaves?k=leaves HTTP/1.1\r\nHost: a\r\n\r\n');
  await srv.waitForLog(/delaying request, .*"GET \/leaves/);
  waiting.socket.destroy();
  await srv.waitForLog(/^\/leaves 499 DELAYED$/m, 'logs/status.log');
  t.pass();
});

test('the server stops at once when the only client that is delayed leaves', async (t) => {
  const srv = await serve(t, 'location / { limit_req zone=one burst=3; stub_status; }');
  t.is(await statuses(srv.port('web'), '/?k=a', 1), '200');
  const waiting = await connectRaw(t, srv.port('web'));
  waiting.send('GET /?k=a HTTP/1.1\r\nHost: a\r\n\r\n');
  await srv.waitForLog(/delaying request/);
  waiting.socket.destroy();
});

test('a request passes all limits, or none of them counts it', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  t.is(await statuses(port, '/both?k=both&h=1', 5), '200 503 503 503 503');
  await srv.waitForLog(/limiting requests, excess: \d\.\d{3} by zone "host"/);
  t.is(await statuses(port, '/one?k=both', 3), '200 200 503');
});

test('limit_req_status, limit_req_log_level, limit_req_dry_run', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  t.is(await statuses(port, '/status?k=status', 2), '200 429');
  await srv.waitForLog(/\[notice\] .*limiting requests, excess: (1\.000|0\.\d+) by zone "one"/);
  t.is(await statuses(port, '/dry?k=dry', 2), '200 200');
  await srv.waitForLog(/\[error\] .*limiting requests, dry run, excess: \d\.\d{3} by zone "one"/);
  await srv.waitForLog(/^\/dry 200 REJECTED_DRY_RUN$/m, 'logs/status.log');
  t.is(await statuses(port, '/slow?k=slow', 2), '200 200');
  await srv.waitForLog(/\[warn\] .*delaying request, dry run, excess: \d\.\d{3}, by zone "one"/);
  await srv.waitForLog(/^\/slow 200 DELAYED_DRY_RUN$/m, 'logs/status.log');
});

test('an internal redirect is not counted again', async (t) => {
  t.is(await statuses((await shared()).port('redirects'), '/a?k=redirect', 3), '200 200 503');
});

/** A configuration with one zone. */
const oneZone = (zone: string) => `worker_processes 2;
    error_log logs/error.log notice;
    events {}
    http { limit_req_zone ${zone}; server { listen 127.0.0.1:%%PORT_web%%; location / { limit_req zone=one; stub_status; } } }`;

test('a request is limited once, its subrequests included', async (t) => {
  const ask = plugin('ask', {
    manifest: `directives: { ask: directive({ in: ['location'] }) }`,
    body: `compile(scope) {
      return scope.conf.ask ? { content: async (request) => request.send((await request.subrequest('/sub')).status, 'ok') } : undefined;
    }`,
  });
  const srv = await startSrv(
    t,
    `load_module modules/ask.js;
    worker_processes 2;
    events {}
    http {
      ${ZONES}
      server { listen 127.0.0.1:%%PORT_web%%; limit_req zone=one burst=1 nodelay; location / { ask; } location /sub { stub_status; } }
    }`,
    { files: { 'modules/ask.js': ask } },
  );
  t.is(await statuses(srv.port('web'), '/?k=a', 3), '200 200 503');
});

test('a reload keeps what is counted; another rate holds at once, another key begins again', async (t) => {
  const srv = await startSrv(t, oneZone('$arg_k zone=one:1m rate=1r/m'));
  const port = srv.port('web');
  t.is(await statuses(port, '/?k=a&h=a', 2), '200 503');
  await reload(srv, oneZone('$arg_k zone=one:1m rate=2r/m'));
  t.is(await statuses(port, '/?k=a&h=a', 1), '503');
  await reload(srv, oneZone('$arg_h zone=one:1m rate=1r/m'));
  t.is(await statuses(port, '/?k=a&h=a', 2), '200 503');
  await reload(srv, oneZone('$arg_h zone=one:2m rate=1r/m'));
  t.is(await statuses(port, '/?k=a&h=a', 2), '200 503');
  await reload(srv, oneZone('$arg_h zone=one:2m rate=6000r/s'));
  await waitFor('the rate', async () => (await get(port, '/?k=a&h=a')).status === 200);
});

test('a worker that is replaced does not forget', async (t) => {
  const srv = await serve(t, 'location / { limit_req zone=one burst=1 nodelay; stub_status; }');
  t.is(await statuses(srv.port('web'), '/?k=a', 3), '200 200 503');
  await reload(srv, srv.read('conf/srv.conf').replace('worker_processes 2', 'worker_processes 1'));
  t.is(await statuses(srv.port('web'), '/?k=a', 1), '503');
});

/** Zones and a line of a server, and the error that is reported for one of them. Errors of arguments are reported together. */
const logging = (http: string, location: string): string =>
  `error_log logs/error.log info; events {}
  http { ${http} server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} } } }`;

test('a reload may give the name of a zone to another directive, and not to two', async (t) => {
  const requests = 'limit_req_zone $arg_k zone=one:1m rate=1r/m;';
  const connections = 'limit_conn_zone $arg_k zone=one:1m;';
  const srv = await startSrv(t, logging(requests, 'limit_req zone=one; stub_status;'));
  const port = srv.port('web');
  t.is(await statuses(port, '/?k=a', 2), '200 503');
  await reload(srv, logging(connections, 'limit_conn one 9; stub_status;'));
  t.is(await statuses(port, '/?k=a', 2), '200 200');
  await reload(srv, logging('upstream one { zone one 1m; server 127.0.0.1:1 down; }', 'proxy_pass http://one;'));
  t.is(await statuses(port, '/?k=a', 1), '502');
  await reload(srv, logging(requests, 'limit_req zone=one; stub_status;'));
  t.is(await statuses(port, '/?k=a', 2), '200 503');
  await srv.configure(logging(`${requests} upstream one { zone one 1m; server 127.0.0.1:1; }`, 'limit_req zone=one; stub_status;'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[emerg\] .*the shared memory zone "one" is already declared for a different use in [^]*stays as it was/);
});

const ARGUMENTS = [
  ['', 'limit_req zone=one burst=0;', 'invalid burst value "burst=0"'],
  ['', 'limit_req zone=one delay=x;', 'invalid delay value "delay=x"'],
  ['', 'limit_req burst=3;', '"limit_req" must have "zone" parameter'],
  ['', 'limit_req zone=one foo;', 'invalid parameter "foo"'],
  ['', 'limit_req_log_level debug;', 'invalid value "debug"'],
  ['limit_req_zone $uri zone=two rate=1r/s;', '', 'invalid zone size "zone=two"'],
  ['limit_req_zone $uri zone=three:1k rate=1r/s;', '', 'zone "zone=three:1k" is too small'],
  ['limit_req_zone $uri zone=four:1m rate=0r/s;', '', 'invalid rate "rate=0r/s"'],
] as const;
const PLACES = [
  ['', 'limit_req zone=none;', 'zero size shared memory zone "none"'],
  ['', 'limit_req zone=one; limit_req zone=one burst=4;', '"limit_req" directive is duplicate'],
] as const;
const DECLARATIONS = [
  ['limit_req_zone $host zone=one:1m rate=1r/s;', '', 'limit_req_zone "one" is already bound to key "$arg_k"'],
  [
    'limit_req_zone $arg_k zone=one:2m rate=1r/s;',
    '',
    'the size 2097152 of shared memory zone "one" conflicts with already declared size 1048576',
  ],
  ['limit_conn_zone $uri zone=one:1m;', '', 'the shared memory zone "one" is already declared for a different use'],
  [
    'upstream u { zone upstream 1m; server 127.0.0.1:1; } limit_req_zone $uri zone=upstream:1m rate=1r/s;',
    '',
    'the shared memory zone "upstream" is already declared for a different use',
  ],
] as const;

for (const [what, lines] of Object.entries({ ARGUMENTS, PLACES, DECLARATIONS }))
  test(`rejected, in nginx's words: ${what.toLowerCase()}`, async (t) => {
    const servers = lines.map(([, line]) => `server { listen 127.0.0.1:%%PORT_web%%; ${line} }`);
    const run = await check(t, `events {} http { ${ZONES} ${lines.map(([zones]) => zones).join('\n')} ${servers.join('\n')} }`);
    t.is(run.code, 1);
    for (const [, , error] of lines) t.true(run.stderr.includes(`[emerg] ${error} in `), `${error}: ${run.stderr}`);
  });
