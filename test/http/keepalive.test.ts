import test, { type ExecutionContext } from 'ava';
import { connectRaw, exchange, get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const server = shared((scope) =>
  startSrv(
    scope,
    `events {}
    http {
      keepalive_timeout 30s;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 "$connection_requests"; }
        location /never { keepalive_timeout 0; return 200 once; }
        location /three { keepalive_requests 3; return 200 "$connection_requests"; }
        location /one { keepalive_requests 0; return 200 one; }
        location /told { keepalive_timeout 30s 20s; return 200 told; }
        location /old { keepalive_time 1ms; return 200 old; }
        location /broken { return 500; }
        location /safari { keepalive_disable safari; return 200 safari; }
        location /any { keepalive_disable none; return 200 any; }
      }
    }`,
  ),
);

/** Sends the same request up to four times over one connection; counts the responses and says what they say of the connection. */
async function ask(t: ExecutionContext, request: string): Promise<string> {
  const connection = await connectRaw(t, (await server()).port('web'));
  for (let responses = 1; responses <= 4; responses++) {
    connection.send(request);
    await connection.receive(/\r\n\r\n\w/);
    const [, says = 'nothing'] = /\r\nConnection: ([\w-]+)/.exec(connection.take()) ?? [];
    if (says === 'keep-alive') continue;
    await connection.receiveAll();
    return `${responses} ${says}`;
  }
  return 'stays open';
}

const IE6 = 'User-Agent: Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)\r\nContent-Length: 0\r\n';
const IE7 = IE6.replace('6.0', '7.0');
const SAFARI = 'User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605 (KHTML, like Gecko) Version/13 Safari/605\r\n';
const CHROME = SAFARI.replace('Version/13', 'Chrome/80');
const HOST = 'Host: a\r\n\r\n';

for (const [line, expected] of [
  ['GET / HTTP/1.1\r\n', 'stays open'],
  ['GET / HTTP/1.1\r\nConnection: Keep-Alive, x\r\n', 'stays open'],
  ['GET / HTTP/1.1\r\nConnection: close\r\n', '1 close'],
  ['GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n', '1 close'],
  ['GET / HTTP/1.0\r\n', '1 close'],
  ['GET / HTTP/1.0\r\nConnection: keep-alive\r\n', 'stays open'],
  ['GET / HTTP/1.0\r\nConnection: close\r\n', '1 close'],
  ['GET /never HTTP/1.1\r\n', '1 close'],
  ['GET /one HTTP/1.1\r\n', '1 close'],
  ['GET /three HTTP/1.1\r\n', '3 close'],
  [`POST / HTTP/1.1\r\n${IE6}`, '1 close'],
  [`GET / HTTP/1.1\r\n${IE6}`, 'stays open'],
  [`POST / HTTP/1.1\r\n${IE7}`, 'stays open'],
  [`POST /any HTTP/1.1\r\n${IE6}`, 'stays open'],
  [`GET /safari HTTP/1.1\r\n${SAFARI}`, '1 close'],
  [`GET / HTTP/1.1\r\n${SAFARI}`, 'stays open'],
  [`GET /safari HTTP/1.1\r\n${CHROME}`, 'stays open'],
] as const) {
  test(`how long a connection stays open: ${line.trim().replace('\r\n', ', ')}`, async (t) => t.is(await ask(t, line + HOST), expected));
}

for (const [what, path, expected] of [
  ['the second time of keepalive_timeout is sent in Keep-Alive', '/told', 'timeout=20'],
  ['there is no Keep-Alive without it', '/', undefined],
] as const) {
  test(what, async (t) => {
    const { headers } = await get((await server()).port('web'), path, { headers: { connection: 'keep-alive' } });
    t.is(headers['keep-alive'], expected);
  });
}

test('after a server error the connection is closed', async (t) => {
  t.regex(await exchange(t, (await server()).port('web'), `GET /broken HTTP/1.1\r\n${HOST}`), /Connection: close/);
});

test('keepalive_time closes an old connection after its request', async (t) => {
  const aged = await connectRaw(t, (await server()).port('web'));
  aged.send(`GET / HTTP/1.1\r\n${HOST}`);
  await aged.receive(/\r\n\r\n1/);
  await new Promise((resolve) => setTimeout(resolve, 20));
  aged.send(`GET /old HTTP/1.1\r\n${HOST}`);
  t.regex(await aged.receiveAll(), /Connection: close\r\n[^]*old$/);
});

test('an idle connection is closed after keepalive_timeout, without a word', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { keepalive_timeout 300ms; server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } } }`,
  );
  const connection = await connectRaw(t, srv.port('web'));
  const since = Date.now();
  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await connection.receive(/ok$/);
  connection.take();
  t.is(await connection.receiveAll(), '');
  t.true(Date.now() - since >= 300, 'not before its time');
});
