import test from 'ava';
import { connectRaw, exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('when a connection stays open', async (t) => {
  const srv = await startSrv(
    t,
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
      }
    }`,
  );
  const port = srv.port('web');
  /** Sends the same request up to four times over one connection; counts the responses and tells what they say of the connection. */
  const ask = async (request: string): Promise<string> => {
    const connection = await connectRaw(t, port);
    for (let answers = 1; answers <= 4; answers++) {
      connection.send(request);
      await connection.receive(/\r\n\r\n\w/);
      const [, says = 'nothing'] = /\r\nConnection: ([\w-]+)/.exec(connection.take()) ?? [];
      if (says !== 'keep-alive') {
        await connection.receiveAll();
        return `${answers} ${says}`;
      }
    }
    return 'stays open';
  };
  const lines = 'Host: a\r\n\r\n';
  t.is(await ask(`GET / HTTP/1.1\r\n${lines}`), 'stays open');
  t.is(await ask(`GET / HTTP/1.1\r\nConnection: Keep-Alive, x\r\n${lines}`), 'stays open');
  t.is(await ask(`GET / HTTP/1.1\r\nConnection: close\r\n${lines}`), '1 close');
  t.is(await ask(`GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n${lines}`), '1 close');
  t.is(await ask(`GET / HTTP/1.0\r\n${lines}`), '1 close');
  t.is(await ask(`GET / HTTP/1.0\r\nConnection: keep-alive\r\n${lines}`), 'stays open');
  t.is(await ask(`GET / HTTP/1.0\r\nConnection: close\r\n${lines}`), '1 close');
  t.is(await ask(`GET /never HTTP/1.1\r\n${lines}`), '1 close');
  t.is(await ask(`GET /one HTTP/1.1\r\n${lines}`), '1 close');
  t.is(await ask(`GET /three HTTP/1.1\r\n${lines}`), '3 close');

  const told = await get(port, '/told', { headers: { connection: 'keep-alive' } });
  t.is(told.headers['keep-alive'], 'timeout=20');
  const silent = await get(port, '/', { headers: { connection: 'keep-alive' } });
  t.is(silent.headers['keep-alive'], undefined);
  t.regex(await exchange(t, port, `GET /broken HTTP/1.1\r\n${lines}`), /Connection: close/, 'after a fault the connection is closed');

  const aged = await connectRaw(t, port);
  aged.send(`GET / HTTP/1.1\r\n${lines}`);
  await aged.receive(/\r\n\r\n1/);
  await new Promise((resolve) => setTimeout(resolve, 20));
  aged.send(`GET /old HTTP/1.1\r\n${lines}`);
  t.regex(await aged.receiveAll(), /Connection: close\r\n[^]*old$/, 'keepalive_time');
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
