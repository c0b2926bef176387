import { writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, type HttpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const LENGTH = 300_000;
const BODY = Buffer.from(Array.from({ length: LENGTH }, (_, at) => (at * 7919) & 255));

const limited = shared(async (t): Promise<{ srv: Srv; backend: HttpBackend }> => {
  const backend = await httpBackend(t, ({ url }, response) => {
    const rate = /accel=(\w+)/.exec(url ?? '')?.[1];
    if (rate !== undefined) response.setHeader('X-Accel-Limit-Rate', rate);
    const target = /redirect=(.+)/.exec(url ?? '')?.[1];
    if (target !== undefined) response.setHeader('X-Accel-Redirect', target);
    if (url?.startsWith('/chunked') === false) response.setHeader('Content-Length', LENGTH);
    response.end(BODY);
  });
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        http2 on;
        root files;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /limited { limit_rate 200k; proxy_pass http://127.0.0.1:${backend.port}; }
        location /chunked { limit_rate 200k; proxy_pass http://127.0.0.1:${backend.port}; }
        location /unbuffered { limit_rate 200k; proxy_buffering off; proxy_pass http://127.0.0.1:${backend.port}; }
        location /file { limit_rate 200k; alias files/body; }
        location /gzip { limit_rate 200k; gzip on; gzip_types *; gzip_min_length 1; alias files/body; default_type text/css; }
        location /after { limit_rate 10; limit_rate_after 1m; alias files/body; }
        location /variables { limit_rate $arg_rate; limit_rate_after $arg_after; alias files/body; }
        location /if { if ($arg_slow) { limit_rate 200k; } if ($arg_slower) { limit_rate 10; } alias files/body; }
        location /set { limit_rate 10; set $limit_rate $arg_rate; proxy_pass http://127.0.0.1:${backend.port}; }
        location /shown { set $limit_rate $arg_rate; return 200 $limit_rate; }
        location /internal/file { internal; alias files/body; }
        location /internal/stalled { internal; limit_rate 10; alias files/body; }
        location /internal/proxied { internal; proxy_pass http://127.0.0.1:${backend.port}/body; }
        location /ten { limit_rate 10; proxy_pass http://127.0.0.1:${backend.port}; }
        location /ignored { proxy_ignore_headers X-Accel-Limit-Rate; proxy_pass http://127.0.0.1:${backend.port}; }
        location /stall { limit_rate 10; alias files/body; }
        location /text { limit_rate 1; return 200 abc; }
      }
    }`,
    { files: { 'files/body': '' } },
  );
  writeFileSync(srv.path('files/body'), BODY);
  return { srv, backend };
});

/** Milliseconds that a response takes; what of it arrives has to be right. */
async function timeOf(t: ExecutionContext, srv: Srv, path: string): Promise<number> {
  const start = Date.now();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port: srv.port('web'), path, agent: false }, resolve)
      .once('error', reject)
      .end();
  });
  const bytes = await buffer(response);
  t.true(bytes.equals(BODY), path);
  t.is(response.headers['x-accel-limit-rate'], undefined);
  return Date.now() - start;
}

test('responses of any source and framing take their time, others do not', async (t) => {
  const { srv } = await limited();
  // 300,000 bytes with 200k a second, of which the first second's worth comes at once.
  const slow = [
    '/limited',
    '/chunked',
    '/unbuffered',
    '/file',
    '/variables?rate=200k',
    '/if?slow=1',
    '/set?rate=200k',
    '/x?accel=204800',
    '/set?rate=9g&accel=204800',
    '/x?accel=204800&redirect=/internal/file',
    '/x?accel=204800&redirect=/internal/proxied',
  ];
  // None of them arrives in time with a rate.
  const fast = [
    '/',
    '/after',
    '/variables?rate=10&after=1m',
    '/variables?rate=',
    '/if',
    '/set?rate=0',
    '/ignored?accel=10',
    '/ignored?accel=10&redirect=/internal/file',
    '/ten?accel=0',
    '/x?accel=0&redirect=/internal/stalled',
  ];
  const times = await Promise.all([...slow, ...fast].map((path) => timeOf(t, srv, path)));
  for (const [at, path] of slow.entries()) t.true((times[at] ?? 0) > 400, `${path}: ${times[at]} ms`);
  t.is((await get(srv.port('web'), '/shown?rate=8k')).body, '8192');
  t.is((await get(srv.port('web'), '/shown?rate=no')).body, '0');
  await srv.waitForLog(/\[error\] .*invalid \$limit_rate "no"/);
  await get(srv.port('web'), '/variables?rate=many');
  await srv.waitForLog(/\[error\] .*invalid size "many"/);
});

test('over HTTP/2 each response has its rate', async (t) => {
  const { srv } = await limited();
  const session = connectHttp2(`http://127.0.0.1:${srv.port('web')}`);
  t.teardown(() => session.destroy());
  const start = Date.now();
  const bodies = await Promise.all(
    ['/limited', '/file', '/'].map(async (path) => {
      const body = await buffer(session.request({ ':path': path }));
      return { body, ms: Date.now() - start };
    }),
  );
  for (const { body } of bodies) t.true(body.equals(BODY));
  t.true((bodies[0]?.ms ?? 0) > 400);
  t.true((bodies[1]?.ms ?? 0) > 400);
});

test('a response that is held back ends with its client, and does not hold its member', async (t) => {
  const { srv, backend } = await limited();
  const begun: Promise<unknown>[] = [];
  const calls = ['/stall', '/x?accel=10'].map((path) => {
    const call = httpRequest({ host: '127.0.0.1', port: srv.port('web'), path, agent: false }, (response) => response.resume());
    call.on('error', () => undefined);
    begun.push(new Promise((resolve) => call.once('response', resolve)));
    call.end();
    return call;
  });
  const member = await waitFor('the member', () => backend.requests.find(({ url }) => url === '/x?accel=10'));
  await waitFor('the end of the member', () => member.socket.destroyed || member.complete);
  // A client that leaves before that has 499 in the log.
  await Promise.all(begun);
  for (const call of calls) call.destroy();
  await srv.waitForLog(/"GET \/stall HTTP\/1.1" 200 /, 'logs/access.log');
  await srv.waitForLog(/"GET \/x\?accel=10 HTTP\/1.1" 200 /, 'logs/access.log');
  t.is((await get(srv.port('web'), '/text')).body, 'abc', 'a second’s worth, and then a byte a second');
  t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
});
