import { truncateSync } from 'node:fs';
import test from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Nobody listens there: discard's port, which no test uses. */
const NOBODY = '127.0.0.1:9';

test('a member that fails max_fails times rests for fail_timeout', async (t) => {
  const good = await httpBackend(t, (_, response) => response.end('good'));
  const reset = await rawBackend(t, (socket) => socket.resetAndDestroy());
  const srv = await startSrv(
    t,
    `error_log logs/error.log warn;
    events {}
    http {
      upstream group { zone group 64k; server 127.0.0.1:${reset.port} max_fails=2 fail_timeout=2s; server 127.0.0.1:${good.port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://group; }
      }
    }`,
  );
  const port = srv.port('web');
  for (let at = 0; at < 10; at++) t.is((await get(port, '/')).body, 'good', 'nobody notices');
  t.is(reset.connections, 2);
  await srv.waitForLog(new RegExp(`\\[warn\\].* upstream server temporarily disabled.*127\\.0\\.0\\.1:${reset.port}`));
  await waitFor('another trial', async () => {
    await get(port, '/');
    return reset.connections === 3;
  });
  for (let at = 0; at < 4; at++) await get(port, '/');
  t.is(reset.connections, 3, 'one trial a time');
});

test('resets within a response are logged as such, of a member and of a client', async (t) => {
  const reset = await rawBackend(t, (socket) => {
    socket.on('data', () =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin', () => setTimeout(() => socket.resetAndDestroy(), 100)),
    );
  });
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${reset.port}; proxy_buffering off; }
        location /large { root ./; }
      }
    }`,
    { files: { large: '' } },
  );
  truncateSync(srv.path('large'), 50_000_000);
  const client = await connectRaw(t, srv.port('web'));
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await srv.waitForLog(/\[error\] .* recv\(\) failed \(104: Connection reset by peer\) while reading upstream, client/);
  const leaving = await connectRaw(t, srv.port('web'));
  leaving.send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  await leaving.receive(/ 200 OK/);
  leaving.socket.resetAndDestroy();
  t.truthy(
    await srv.waitForLog(/\[info\] .* client prematurely closed connection while sending response to client, client: .*GET \/large/),
  );
});

test('max_fails=0 never rests, and a member that is alone neither', async (t) => {
  const reset = await rawBackend(t, (socket) => socket.resetAndDestroy());
  const alone = await rawBackend(t, (socket) => socket.resetAndDestroy());
  const good = await httpBackend(t, (_, response) => response.end('good'));
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${reset.port} max_fails=0; server 127.0.0.1:${good.port}; }
      upstream alone { server 127.0.0.1:${alone.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://group; } location /alone { proxy_pass http://alone; } }
    }`,
  );
  for (let at = 0; at < 8; at++) t.is((await get(srv.port('web'), '/')).body, 'good');
  t.is(reset.connections, 4);
  for (let at = 0; at < 3; at++) t.is((await get(srv.port('web'), '/alone')).status, 502);
  t.is(alone.connections, 3);
});

/** What a member does, by the path of the request; the other paths are statuses. */
const DEEDS: Readonly<Record<string, string>> = { closes: '', hangs: 'hangs', nonsense: 'NONSENSE\r\n\r\n' };
const COUNTED = [
  // As in nginx these count whatever proxy_next_upstream says.
  ['off', 'closes', 'counts'],
  ['off', 'hangs', 'counts'],
  ['off', 'nonsense', 'counts'],
  ['error', 'closes', 'counts'],
  ['timeout', 'hangs', 'counts'],
  ['invalid_header', 'nonsense', 'counts'],
  ['error timeout', '500', 'does not'],
  ['off', '503', 'does not'],
  ...[500, 502, 503, 504, 429].map((status) => [`http_${status}`, String(status), 'counts'] as const),
  ...[403, 404].map((status) => [`http_${status}`, String(status), 'does not'] as const),
  ['non_idempotent http_503', '503', 'counts'],
  ['http_500', '404', 'does not'],
  ['error', '200', 'does not'],
] as const;

test('what counts as a failure of a member', async (t) => {
  const first = await rawBackend(t, (socket) =>
    socket.once('data', (chunk) => {
      const deed = /^\w+ \/\d+\/(\w+)/.exec(chunk.toString('latin1'))?.[1] ?? '';
      const text = DEEDS[deed] ?? `HTTP/1.1 ${deed} X\r\nContent-Length: 5\r\n\r\nfirst`;
      if (text !== 'hangs') socket.end(text);
    }),
  );
  const second = await httpBackend(t, (_, response) => response.end('second'));
  const upstreams = COUNTED.map(
    (_, at) => `upstream u${at} { server 127.0.0.1:${first.port} fail_timeout=1h; server 127.0.0.1:${second.port} backup; }`,
  );
  const locations = COUNTED.map(
    ([next, deed], at) =>
      `location /${at}/ { proxy_pass http://u${at}; ${deed === 'hangs' ? 'proxy_read_timeout 2s;' : ''} proxy_next_upstream ${next}; }`,
  );
  const srv = await startSrv(
    t,
    `events {} http { ${upstreams.join('\n')} server { listen 127.0.0.1:%%PORT_web%%; ${locations.join('\n')} } }`,
  );
  const verdicts = COUNTED.map(async ([next, deed], at) => {
    const method = next.startsWith('non_idempotent') ? 'POST' : 'GET';
    await get(srv.port('web'), `/${at}/${deed}`, { method });
    const { body } = await get(srv.port('web'), `/${at}/200`);
    return `${next}: ${deed} ${body === 'second' ? 'counts' : 'does not'}`;
  });
  t.deepEqual(
    await Promise.all(verdicts),
    COUNTED.map(([next, deed, verdict]) => `${next}: ${deed} ${verdict}`),
  );
});

test('backups stand in when no other is left, and nobody when they fail too', async (t) => {
  const backup = await httpBackend(t, (_, response) => response.end('backup'));
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server ${NOBODY}; server 127.0.0.1:10; server 127.0.0.1:${backup.port} backup; }
      upstream all-down { server ${NOBODY} down; server 127.0.0.1:10 down; }
      upstream all-fail { server ${NOBODY}; server 127.0.0.1:10; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        add_header X-Tried "$upstream_addr $upstream_status" always;
        location / { proxy_pass http://group; }
        location /down { proxy_pass http://all-down; }
        location /fail { proxy_pass http://all-fail; }
      }
    }`,
  );
  const port = srv.port('web');
  const first = await get(port, '/');
  t.is(first.body, 'backup');
  t.is(first.headers['x-tried'], `127.0.0.1:9, 127.0.0.1:10, 127.0.0.1:${backup.port} 502, 502, 200`);
  t.is((await get(port, '/')).headers['x-tried'], `127.0.0.1:${backup.port} 200`, 'the others rest');
  const down = await get(port, '/down');
  t.deepEqual([down.status, down.headers['x-tried']], [502, 'all-down 502']);
  await srv.waitForLog(/\[error\].* no live upstreams while connecting to upstream, client: .*, upstream: "http:\/\/all-down\/down"/);
  const failed = await get(port, '/fail');
  t.deepEqual([failed.status, failed.headers['x-tried']], [502, '127.0.0.1:9, 127.0.0.1:10 502, 502']);
  t.is((await get(port, '/fail')).status, 502, 'the next request finds none');
});

for (const workers of [1, 2]) {
  test(`max_conns bounds the requests at a member, with ${workers} worker${workers > 1 ? 's' : ''}`, async (t) => {
    const waiting: (() => void)[] = [];
    const backend = await httpBackend(t, (request, response) => {
      if (request.url === '/hold') waiting.push(() => response.end('held'));
      else response.end('ok');
    });
    const srv = await startSrv(
      t,
      `worker_processes ${workers};
      events {}
      http {
        upstream group { zone group 64k; server 127.0.0.1:${backend.port} max_conns=3; }
        server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://group; } }
      }`,
    );
    const port = srv.port('web');
    const held = [1, 2, 3].map(() => get(port, '/hold'));
    await waitFor('three requests at the member', () => waiting.length === 3);
    for (let at = 0; at < 4; at++) t.is((await get(port, '/')).status, 502);
    waiting.pop()?.();
    await Promise.any(held);
    await waitFor('a free place', async () => (await get(port, '/')).body === 'ok');
    for (const end of waiting) end();
    t.deepEqual(
      (await Promise.all(held)).map(({ body }) => body),
      ['held', 'held', 'held'],
    );
  });
}

test('requests that end in any way give their place back', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    if (request.url === '/ok') response.end('ok');
    else if (request.url === '/reset') request.socket.resetAndDestroy();
    else if (request.url === '/half') response.write('half', () => request.socket.resetAndDestroy());
    // Others are never answered.
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { zone group 64k; server 127.0.0.1:${backend.port} max_conns=1; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://group; }
        location /silent { proxy_pass http://group; proxy_read_timeout 300ms; }
      }
    }`,
  );
  const port = srv.port('web');
  const free = (after: string): Promise<true> => waitFor(`a free place after ${after}`, async () => (await get(port, '/ok')).body === 'ok');
  await free('the start');
  t.is((await get(port, '/reset')).status, 502);
  await free('a reset');
  await t.throwsAsync(get(port, '/half'));
  await free('half an answer');
  t.is((await get(port, '/silent')).status, 504);
  await free('a time-out');
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    const gone = await connectRaw(t, port);
    gone.send('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('the request at the member', () => backend.requests.at(-1)?.url === '/never');
    gone.socket[leave]();
    await free(`a client that left by ${leave}`);
  }
});

test('the log says what is wrong with the header of a member', async (t) => {
  const backend = await rawBackend(t, (socket) => socket.once('data', () => socket.end('HTTP/1.1 OK\r\n\r\n')));
  const srv = await startSrv(
    t,
    `error_log logs/error.log;
    events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  t.is((await get(srv.port('web'), '/')).status, 502);
  await srv.waitForLog(
    /upstream sent invalid header while reading response header from upstream \(upstream sent invalid status line\), client/,
  );
});
