import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend, rawBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

const CLOSES = '';
const SILENT = 'silent';
const status = (code: number): string => `HTTP/1.1 ${code} X\r\nContent-Length: 5\r\n\r\nfirst`;

/**
 * A server with a location for each of `settings` and an upstream of two: the first one responds with what the request's X-Bad says (text as it
 * is, {@link CLOSES}, {@link SILENT}), the second, asked only after the first, with the request's body.
 * @returns what a request to the location with these settings comes to: status, body, how often the first one was asked
 */
async function twoMembers(t: ExecutionContext, ...settings: readonly string[]): Promise<Ask> {
  let tried = 0;
  const first = await rawBackend(t, (socket) => {
    socket.once('data', (chunk) => {
      tried++;
      const bad = JSON.parse(/^x-bad: (.*)\r$/im.exec(chunk.toString('latin1'))?.[1] ?? '""') as string;
      if (bad === CLOSES) socket.destroy();
      else if (bad !== SILENT) socket.end(bad, 'latin1');
    });
  });
  const second = await httpBackend(t, (request, response) => void bodyOf(request).then((body) => response.end(`second ${body}`)));
  const locations = settings.map((lines, at) => `location /${at}/ { proxy_pass http://group; proxy_read_timeout 2s; ${lines} }`);
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${first.port} max_fails=0; server 127.0.0.1:${second.port} backup; }
      server { listen 127.0.0.1:%%PORT_web%%; client_max_body_size 0; ${locations.join('\n')} }
    }`,
  );
  return async (lines, bad, method = 'GET', body = '') => {
    tried = 0;
    const headers = { 'x-bad': JSON.stringify(bad), ...(body === '' ? {} : { 'content-length': body.length }) };
    const answer = await get(srv.port('web'), `/${settings.indexOf(lines)}/`, { method, headers, body });
    return `${answer.status} ${answer.body.startsWith('<') ? '' : answer.body} ${tried}`;
  };
}

type Ask = (settings: string, bad: string, method?: string, body?: string) => Promise<string>;

const NEXT = '200 second  1';

test('errors and time-outs, by default', async (t) => {
  const off = 'proxy_next_upstream off;';
  const timeout = 'proxy_next_upstream timeout;';
  const error = 'proxy_next_upstream error;';
  const ask = await twoMembers(t, '', off, timeout, error);
  t.is(await ask('', CLOSES), NEXT);
  t.is(await ask('', SILENT), NEXT);
  t.is(await ask('', 'NONSENSE\r\n\r\n'), '502  1');
  t.is(await ask('', status(503)), '503 first 1');
  t.is(await ask(off, CLOSES), '502  1');
  t.is(await ask(off, SILENT), '504  1');
  t.is(await ask(timeout, CLOSES), '502  1');
  t.is(await ask(error, SILENT), '504  1');
});

test('invalid_header', async (t) => {
  const settings = 'proxy_next_upstream invalid_header;';
  const ask = await twoMembers(t, settings);
  t.is(await ask(settings, 'NONSENSE\r\n\r\n'), NEXT);
  t.is(await ask(settings, 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n'), NEXT);
});

const next = (code: number): string => `proxy_next_upstream http_${code};`;

test('statuses', async (t) => {
  const codes = [500, 502, 503, 504, 403, 404, 429];
  const ask = await twoMembers(t, ...codes.map(next));
  for (const code of codes) t.is(await ask(next(code), status(code)), NEXT, `${code}`);
  t.is(await ask(next(503), status(500)), '500 first 1');
});

test('a request that must not be made twice is not, unless non_idempotent says so', async (t) => {
  const on503 = 'proxy_next_upstream http_503;';
  const any = 'proxy_next_upstream error non_idempotent;';
  const ask = await twoMembers(t, '', on503, any);
  for (const method of ['POST', 'PATCH', 'LOCK']) {
    t.is(await ask('', CLOSES, method, 'data'), '502  1', method);
    t.is(await ask(on503, status(503), method, 'data'), '503 first 1', method);
    t.is(await ask(any, CLOSES, method, 'data'), '200 second data 1', method);
  }
  for (const method of ['PUT', 'DELETE']) t.is(await ask('', CLOSES, method, 'data'), '200 second data 1', method);
});

test('a body that is buffered is sent again, in memory or in a file; one that is not cannot be', async (t) => {
  const wide = 'client_body_buffer_size 200k;';
  const streamed = 'proxy_request_buffering off;';
  const ask = await twoMembers(t, '', wide, streamed);
  const large = 'x'.repeat(100_000);
  t.is(await ask('', CLOSES, 'PUT', 'x'.repeat(16_000)), `200 second ${'x'.repeat(16_000)} 1`);
  t.is(await ask(wide, CLOSES, 'PUT', large), `200 second ${large} 1`);
  t.is(await ask('', CLOSES, 'PUT', large), `200 second ${large} 1`);
  t.true((await ask('', CLOSES, 'PUT', 'x'.repeat(5_000_000))).startsWith('200 second xxx'));
  t.is(await ask(streamed, CLOSES, 'PUT', 'small'), '200 second small 1', 'what is small is kept in any case');
  t.is(await ask(streamed, CLOSES, 'PUT', 'x'.repeat(5_000_000)), '502  1');
});

test('nothing was sent to a member that cannot be reached: any request goes on', async (t) => {
  const large = 'x'.repeat(300_000);
  const second = await httpBackend(t, (request, response) => void bodyOf(request).then((body) => response.end(`got ${body.length}`)));
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:9 max_fails=0; server 127.0.0.1:${second.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://group; }
        location /stream { proxy_pass http://group; proxy_request_buffering off; }
      }
    }`,
  );
  for (const path of ['/', '/stream']) {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      t.is((await get(srv.port('web'), path, { method: 'POST', body: large, headers })).body, 'got 300000', path);
    }
  }
});

const serverLines = (backends: readonly { port: number }[]): string =>
  backends.map(({ port }) => `server 127.0.0.1:${port} max_fails=0;`).join(' ');

test('proxy_next_upstream_tries and _timeout', async (t) => {
  const tried: number[] = [];
  const backends = await Promise.all(
    [0, 1, 2, 3].map((at) =>
      rawBackend(t, (socket) => {
        tried.push(at);
        socket.destroy();
      }),
    ),
  );
  const silent = await Promise.all([0, 1, 2, 3].map((at) => rawBackend(t, () => void tried.push(at))));
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { ${serverLines(backends)} }
      upstream silent { ${serverLines(silent)} }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://group; }
        location /two { proxy_pass http://group; proxy_next_upstream_tries 2; }
        location /time { proxy_pass http://silent; proxy_read_timeout 2s; proxy_next_upstream_timeout 3900ms; }
      }
    }`,
  );
  const ask = async (path: string): Promise<string> => {
    tried.length = 0;
    const { status } = await get(srv.port('web'), path);
    return `${status} ${tried.length}`;
  };
  t.is(await ask('/'), '502 4', 'every member once');
  t.is(await ask('/two'), '502 2');
  t.is(await ask('/time'), '504 2');
});

test('members that are down are no reason to give up the last response', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    response.statusCode = Number(request.url?.slice(1));
    response.end('last');
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${backend.port}; server 127.0.0.1:1 down; server 127.0.0.1:2 down backup; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://group; proxy_next_upstream http_404 http_503; } }
    }`,
  );
  for (const code of [404, 503, 404]) t.like(await get(srv.port('web'), `/${code}`), { status: code, body: 'last' });
});
