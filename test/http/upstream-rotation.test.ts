import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

/** `count` backends that respond with their letter. Returns their ports. */
async function letters(t: ExecutionContext, count: number): Promise<number[]> {
  const backends = Array.from({ length: count }, (_, at) => httpBackend(t, (_, response) => response.end('abcdefgh'[at])));
  return (await Promise.all(backends)).map(({ port }) => port);
}

/** The responses to requests made one after the other, each on a connection of its own, so that they fall on any worker. */
async function sequence(port: number, path: string, length: number): Promise<string> {
  let answers = '';
  while (answers.length < length) answers += (await get(port, path)).body;
  return answers;
}

for (const workers of [1, 2]) {
  test(`members get their turns by weight, with ${workers} worker${workers > 1 ? 's' : ''}`, async (t) => {
    const [a, b, c] = await letters(t, 3);
    const srv = await startSrv(
      t,
      `worker_processes ${workers};
      events {}
      http {
        upstream plain { zone plain 64k; server 127.0.0.1:${a}; server 127.0.0.1:${b}; server 127.0.0.1:${c}; }
        upstream weights { zone weights 64k; server 127.0.0.1:${a} weight=5; server 127.0.0.1:${b}; server 127.0.0.1:${c}; }
        upstream down { zone down 64k; server 127.0.0.1:${a}; server 127.0.0.1:${b} down; server 127.0.0.1:${c} weight=2; }
        upstream backup { zone backup 64k; server 127.0.0.1:${a}; server 127.0.0.1:${b} backup; server 127.0.0.1:${c}; }
        server {
          listen 127.0.0.1:%%PORT_web%%;
          location /plain { proxy_pass http://plain; }
          location /weights { proxy_pass http://weights; }
          location /down { proxy_pass http://down; }
          location /backup { proxy_pass http://backup; }
        }
      }`,
    );
    const port = srv.port('web');
    t.is(await sequence(port, '/plain', 9), 'abcabcabc');
    t.is(await sequence(port, '/weights', 14), 'aabacaaaabacaa', 'smooth, as in nginx');
    t.is(await sequence(port, '/down', 6), 'caccac');
    t.is(await sequence(port, '/backup', 4), 'acac');
  });
}

test('without a zone each worker counts for itself', async (t) => {
  const [a, b] = await letters(t, 2);
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${a}; server 127.0.0.1:${b}; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://group; } }
    }`,
  );
  t.is(await sequence(srv.port('web'), '/', 6), 'ababab');
});
