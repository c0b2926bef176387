import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend, type HttpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Says what it got; notes it as well. */
async function echo(t: ExecutionContext, notes: string[], delay = 0): Promise<HttpBackend> {
  return httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) => {
      notes.push(`${request.method} ${request.url} ${String(request.headers['x-kind'])} ${body.length} ${body.slice(0, 5)}`);
      setTimeout(() => response.end(`${request.method} ${body.length}`), delay);
    });
  });
}

function start(t: ExecutionContext, port: number, mirror: number): Promise<Srv> {
  return startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      client_max_body_size 2m;
      log_format line '$uri $status [$request_body]';
      access_log logs/access.log line;
      mirror /mirror;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /two { mirror /mirror; mirror /again; proxy_pass http://127.0.0.1:${port}; proxy_request_buffering off; }
        location /off { mirror off; proxy_pass http://127.0.0.1:${port}; }
        location /bare { mirror_request_body off; proxy_pass http://127.0.0.1:${port}; }
        location /dead { mirror /nowhere; proxy_pass http://127.0.0.1:${port}; }
        location /mirror { internal; proxy_pass http://127.0.0.1:${mirror}$request_uri; }
        location /again { internal; proxy_pass http://127.0.0.1:${mirror}; }
        location /nowhere { internal; proxy_pass http://127.0.0.1:9; }
      }
    }`,
  );
}

test('a copy of a request goes to the mirror, with method, fields and body, and nobody waits for it', async (t) => {
  const notes: string[] = [];
  const mirrored: string[] = [];
  const backend = await echo(t, notes);
  const mirror = await echo(t, mirrored, 1500);
  const srv = await start(t, backend.port, mirror.port);
  const send = (
    path: string,
    body = '',
    method = body === '' ? 'GET' : 'POST',
  ): Promise<{ readonly body: string; readonly status: number }> =>
    get(srv.port('web'), path, { method, headers: { 'x-kind': 'k' }, ...(body === '' ? {} : { body }) });
  t.is((await send('/a?b=c')).body, 'GET 0');
  t.is((await send('/a', 'short', 'PUT')).body, 'PUT 5');
  t.is((await send('/long', 'x'.repeat(1_000_000))).body, 'POST 1000000');
  t.is((await send('/two', 'y'.repeat(100_000))).body, 'POST 100000');
  t.is((await send('/off')).body, 'GET 0');
  t.is((await send('/bare', 'a body')).body, 'POST 6');
  t.is((await send('/dead', 'a body')).body, 'POST 6');
  await waitFor('the mirrored requests', () => mirrored.length === 6);
  t.deepEqual(mirrored.toSorted(), [
    'GET /a?b=c k 0 ',
    'POST /again k 100000 yyyyy',
    'POST /bare k 0 ',
    'POST /long k 1000000 xxxxx',
    'POST /two k 100000 yyyyy',
    'PUT /a k 5 short',
  ]);
  t.is(notes.length, 7, 'the backend gets each once');
  await srv.waitForLog(/^\/a 200 \[short\]$/m, 'logs/access.log');
  t.notRegex(readFileSync(srv.path('logs/access.log'), 'utf8'), /mirror|again|nowhere/);
  await srv.waitForLog(/connect\(\) failed .* subrequest: "\/nowhere"|connect\(\) failed .*upstream: "http:\/\/127\.0\.0\.1:9/);
});

test('off has no other mirror beside it', async (t) => {
  for (const lines of ['mirror off; mirror /x;', 'mirror /x; mirror off;', 'mirror off; mirror off;']) {
    const { code, stderr } = await check(t, `events {} http { server { listen 127.0.0.1:%%PORT_a%%; location / { ${lines} } } }`);
    t.is(code, 1);
    t.regex(stderr, /"mirror" directive is duplicate/);
  }
  const conf = 'events {} http { mirror /x; server { listen 127.0.0.1:%%PORT_a%%; mirror off; location / { mirror /y; mirror /y; } } }';
  t.is((await check(t, conf)).code, 0);
});
