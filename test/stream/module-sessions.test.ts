/** Sessions that modules read: their first bytes, and all of them. */
import { createSocket } from 'node:dgram';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, exchange } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

/** Looks up each part of the first word, which takes longer than preread_timeout. */
const SLOW = plugin('slow', {
  kind: 'stream',
  manifest: `directives: { slow: directive({ in: ['stream server'] }) }, variables: { calls: (session) => String(session.get(KEY)) }`,
  imports: `import { AGAIN, DECLINED } from 'srv/module/stream.js';
    const KEY = {};`,
  body: `
  compile({ conf }) {
    const preread = async (session) => {
      session.set(KEY, (session.get(KEY) ?? 0) + 1);
      await new Promise((done) => setTimeout(done, 600));
      return session.isPrereadOver ? DECLINED : AGAIN;
    };
    return conf.slow && { preread };
  }`,
});

/** Speaks with clients. */
const SPEAKER = plugin('speaker', {
  kind: 'stream',
  manifest: `directives: { speaks: directive({ in: ['stream server'], args: text() }) }`,
  imports: `import { DONE } from 'srv/module/stream.js';
    import { SessionRelays } from 'srv/module/stream-relays.js';
    import { relayPlan } from 'srv/toolkit/relay-plan.js';`,
  body: `
  static services = [SessionRelays];
  constructor(relays) { this.relays = relays; }
  compile(scope) {
    const { speaks } = scope.conf;
    const fail = (message) => scope.fail(message, 'speaks');
    const constant = (text) => ({ constant: text, of: () => text });
    const relay = speaks?.startsWith('relay ') && this.relays.compile(relayPlan({ target: constant(speaks.slice(6)), fail }));
    const kinds = {
      async echo(client) {
        for (;;) {
          const bytes = await client.read();
          if (bytes === undefined) return 200;
          if (!client.write(bytes)) await client.drained();
        }
      },
      later(client, session) {
        setTimeout(async () => {
          client.write('hello ');
          for (let left = 5; left > 0;) { const bytes = await client.read(); left -= bytes.length; client.write(bytes); }
          session.end(200);
        }, 350);
        return DONE;
      },
      async fails(client) { await client.read(); throw new Error('broken'); },
      async lazy(client, session) {
        client.write('begin');
        await new Promise((done) => setTimeout(done, 500));
        client.write(' received ' + session.bytesReceived);
        // A close with unread bytes is a reset, which may come before the text.
        while (await client.read() !== undefined);
        return 200;
      },
      async relay(client, session) {
        const bytes = await client.read();
        client.write('hello ' + bytes.subarray(0, 2) + ',');
        client.unread(bytes.subarray(2));
        return relay(session);
      },
    };
    const speak = kinds[speaks?.split(' ')[0]];
    return speak && { content: (session) => speak(session.converse({ idleTimeout: 800 }), session) };
  }`,
});

const site = shared(async (scope) => {
  const echo = await rawBackend(scope, (socket) => socket.pipe(socket));
  return startSrv(
    scope,
    `load_module modules/slow.mjs; load_module modules/speaker.mjs; error_log logs/error.log info; events {}
    stream {
      log_format short '$server_port $status';
      access_log logs/access.log short;
      preread_timeout 300ms;
      server { listen 127.0.0.1:%%PORT_slow%%; slow; handler_timeout 5s; return $calls; }
      handler_timeout 300ms;
      ${['echo', 'later', 'fails', 'lazy'].map((name) => `server { listen 127.0.0.1:%%PORT_${name}%%; speaks ${name}; }`).join('\n')}
      server { listen 127.0.0.1:%%PORT_relay%%; speaks "relay 127.0.0.1:${echo.port}"; }
      server { listen 127.0.0.1:%%PORT_udp%% udp; speaks echo; }
    }`,
    { files: { 'modules/slow.mjs': SLOW, 'modules/speaker.mjs': SPEAKER } },
  );
});

test('a preread handler that is awaited when preread_timeout is over is called once more when it has settled', async (t) => {
  const srv = await site();
  t.is(await exchange(t, srv.port('slow'), 'a'), '2');
});

test('a content handler reads from the client and writes to it, without handler_timeout', async (t) => {
  const srv = await site();
  const client = await connectRaw(t, srv.port('echo'));
  for (const word of ['one', 'two', 'three']) {
    client.send(word);
    await client.receive(new RegExp(`${word}$`));
    await new Promise((done) => setTimeout(done, 150));
  }
  client.socket.end('four');
  t.is(await client.receiveAll(), 'onetwothreefour');
  t.is(await exchange(t, srv.port('fails'), 'a'), '');
  await srv.waitForLog(/\[crit\] .*"speaker".* failed: Error: broken/);
  await srv.waitForLog(new RegExp(`^${srv.port('fails')} 500$`, 'm'), 'logs/access.log');
});

test('a conversation without a byte ends after its idle time', async (t) => {
  const srv = await site();
  const silent = await connectRaw(t, srv.port('echo'));
  t.is(await silent.receiveAll(), '');
  await srv.waitForLog(/\[info\] .*client timed out \(110: Connection timed out\) while a module speaks with it, client: /);
});

test('a handler that has returned DONE speaks on, and bytes are those of the client in any number of reads', async (t) => {
  const srv = await site();
  const client = await connectRaw(t, srv.port('later'));
  client.send('wor');
  setTimeout(() => client.send('ld'), 100);
  t.is(await client.receiveAll(), 'hello world');
});

test('a module that reads slowly slows its client down, and a client that reads slowly its module', async (t) => {
  const srv = await site();
  const much = 'x'.repeat(20_000_000);
  const lazy = await connectRaw(t, srv.port('lazy'));
  await lazy.receive(/begin/);
  lazy.send(much);
  const [, received] = await lazy.receive(/received (\d+)/);
  t.true(Number(received) < 1_000_000, received);
  lazy.socket.destroy();

  const echo = await connectRaw(t, srv.port('echo'));
  echo.socket.pause();
  echo.socket.end(much, 'latin1');
  echo.socket.resume();
  t.is((await echo.receiveAll()).length, much.length);
});

test('a conversation goes over to a relay, with the bytes that were not read', async (t) => {
  const srv = await site();
  const client = await connectRaw(t, srv.port('relay'));
  client.send('memore');
  await client.receive(/^hello me,more$/);
  client.send(' and more');
  await client.receive(/more and more$/);
  // proxy_timeout, and not the idle time of the conversation.
  await new Promise((done) => setTimeout(done, 1200));
  client.send('!');
  await client.receive(/!$/);
  client.socket.end();
  t.is(await client.receiveAll(), 'hello me,more and more!');
});

test('there are no conversations over UDP', async (t) => {
  const srv = await site();
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  socket.send('a', srv.port('udp'), '127.0.0.1');
  t.truthy(await srv.waitForLog(/\[crit\] .*"speaker".* failed: Error: a conversation is a connection over TCP/));
});
