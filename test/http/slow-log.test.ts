import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import test from 'ava';
import { phasesOf } from '../../modules/slow_log/phases.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { fakeAttempt } from '../../testing/member-response.js';

interface Entry {
  readonly uri: string;
  readonly status: number;
  readonly duration: number;
  readonly phases: Readonly<Record<'before' | 'queue' | 'connect' | 'first_byte' | 'body' | 'client', number>>;
  readonly attempts: readonly { readonly address: string; readonly failure?: string }[];
}

test('a slow request has the time of each phase; others are not written', async (t) => {
  const member = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        const isSlow = data.toString().startsWith('GET /slow');
        void sleep(isSlow ? 150 : 0).then(async () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab');
          await sleep(isSlow ? 100 : 0);
          socket.write('cd');
        });
      });
  }).listen(0, '127.0.0.1');
  await once(member, 'listening');
  t.teardown(() => void member.close());
  const { port } = member.address() as { port: number };
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_slow_log_module.so; events {} http { slow_log 100ms logs/slow.log; proxy_buffering off;
      upstream two { server 127.0.0.1:%%PORT_none%%; server 127.0.0.1:${port}; }
      server { listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://two; }
        location /fast { slow_log 1h logs/slow.log; proxy_pass http://two; }
        location /off/ { slow_log off; proxy_pass http://two/slow; } } }`,
  );
  for (const path of ['/fast', '/off/', '/slow?a=%C3%A9', '/fast']) await get(srv.port('web'), path);
  const text = await waitFor('the line', () => srv.read('logs/slow.log'));
  const entries = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
  t.deepEqual(
    entries.map(({ uri, status }) => [uri, status]),
    [['/slow?a=%C3%A9', 200]],
  );
  const [{ duration, phases, attempts }] = entries as [Entry];
  t.true(duration >= 240);
  // A head that is read late leaves less time to the body.
  t.true(phases.first_byte >= 140 && phases.body > 0 && phases.first_byte + phases.body >= 240, JSON.stringify(phases));
  const sum = Object.values(phases).reduce((all, ms) => all + ms);
  t.true(Math.abs(sum - duration) <= 20, `${sum} of ${duration}`);
  t.is(attempts.at(-1)?.address, `127.0.0.1:${port}`);
});

test('times of attempts add up, and each moment belongs to one phase', (t) => {
  const attempts = [
    { startTime: 1035, queueTime: 5, connectTime: -1, headerTime: -1, responseTime: 20, failure: 'refused', status: 502 },
    { startTime: 1055, queueTime: 0, connectTime: 10, headerTime: 40, responseTime: 100, status: 200 },
  ].map((fields) => fakeAttempt(fields));
  t.deepEqual(phasesOf({ startTime: 1000, headTime: 1100, attempts }, 1200), {
    before: 30,
    queue: 5,
    connect: 30,
    first_byte: 30,
    body: 60,
    client: 45,
  });
  const own = phasesOf({ startTime: 1000, headTime: 1050, attempts: [] }, 1200);
  t.deepEqual(own, { before: 50, queue: 0, connect: 0, first_byte: 0, body: 0, client: 150 });
  t.is(phasesOf({ startTime: 1000, headTime: 0, attempts: [] }, 1200).before, 200);
});

const conf = (line: string): string =>
  `load_module modules/srv_http_slow_log_module.so; events {} http { server { listen 127.0.0.1:1; ${line} } }`;

test('the directive needs a time', async (t) => {
  t.regex((await check(t, conf('slow_log;'))).stderr, /a time is required: slow_log 1s/);
  t.regex((await check(t, conf('slow_log off 1s logs/a;'))).stderr, /"off" has no other parameters/);
  t.regex((await check(t, conf('slow_log soon logs/a;'))).stderr, /soon/);
});
