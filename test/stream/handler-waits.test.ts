/** Handlers of `stream` that wait: their session ends with them or with handler_timeout, and never hangs. */
import test from 'ava';
import { check } from '../harness/check.js';
import { connectRaw, exchange } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

const MODULE = plugin('acme', {
  kind: 'stream',
  manifest: `directives: { does: directive({ in: ['stream server'], args: text() }) }`,
  imports: `import { AGAIN, DECLINED, DONE } from 'srv/module/stream.js';`,
  body: `
    handlers = {
      never: { content: () => new Promise(() => {}) },
      never_access: { access: () => new Promise(() => {}), content: () => 200 },
      never_preread: {
        preread: (session) => session.preread.length === 0 ? AGAIN : new Promise(() => {}),
        content: () => 200,
      },
      over: {
        preread: (session) => session.isPrereadOver ? DECLINED : AGAIN,
        content: (session) => session.send('over: ' + session.preread.length),
      },
      never_over: { preread: () => AGAIN, content: () => 200 },
      done: { content: () => DONE },
      done_access: { access: () => DONE, content: () => 200 },
      done_later: { content: async () => DONE },
      later: { content: (session) => { setTimeout(() => session.send('later'), 50); return DONE; } },
      much: { content: (session) => session.send('x'.repeat(20_000_000)) },
      late: { content: (session) => { session.send('late'); return new Promise((_, fail) => setTimeout(fail, 500, new Error('too late'))); } },
      throws: { content: () => { throw new Error('broken'); } },
      rejects: { content: async () => { throw new Error('broken'); } },
      nothing: { content: () => undefined },
      text: { access: async () => 'allowed', content: () => 200 },
      again: { content: () => AGAIN },
      slow: { content: async (session) => {
        await new Promise((done) => setTimeout(done, 300));
        return session.send('slow');
      } },
    };
    compile(scope) { return this.handlers[scope.conf.does]; }`,
});

const NEVER = ['never', 'never_access', 'never_preread', 'done', 'done_access', 'done_later'];
const FAILING = {
  throws: 'Error: broken',
  rejects: 'Error: broken',
  nothing: 'TypeError: the handler returned undefined: it must return',
  text: "TypeError: the handler returned 'allowed': it must return",
  again: 'TypeError: the handler returned -3: it must return',
};
const NAMES = [...NEVER, ...Object.keys(FAILING), 'later', 'much', 'late', 'slow', 'over', 'never_over'];

function start(t: Scope, timeout: string): Promise<Srv> {
  const servers = NAMES.map((name) => `server { listen 127.0.0.1:%%PORT_${name}%%; does ${name}; }`);
  return startSrv(
    t,
    `load_module modules/acme.mjs; error_log logs/error.log info; events {}
    stream {
      log_format short '$server_port $status';
      access_log logs/access.log short;
      ${timeout}
      ${servers.join('\n')}
    }`,
    { files: { 'modules/acme.mjs': MODULE } },
  );
}

const hasty = shared((scope) => start(scope, 'handler_timeout 300ms; preread_timeout 300ms; preread_buffer_size 100;'));

for (const name of NEVER) {
  test(`a session that its handler does not end ends with 500 after handler_timeout, and its client is closed: ${name}`, async (t) => {
    const srv = await hasty();
    t.is(await exchange(t, srv.port(name), 'a'), '');
    await srv.waitForLog(/\[error\] .*a handler of "acme" timed out \(110: Connection timed out\).*, client: /);
    await srv.waitForLog(new RegExp(`^${srv.port(name)} 500$`, 'm'), 'logs/access.log');
  });
}

test('a handler that takes its time goes on, and its session is not ended later', async (t) => {
  const srv = await start(t, '');
  t.is(await exchange(t, srv.port('slow'), ''), 'slow');
  t.notRegex(srv.log(), /timed out/);
});

test('DONE promises an end that may come later', async (t) => {
  const srv = await start(t, '');
  t.is(await exchange(t, srv.port('later'), ''), 'later');
  t.is(await exchange(t, srv.port('late'), ''), 'late');
  await srv.waitForLog(new RegExp(`^${srv.port('late')} 200$`, 'm'), 'logs/access.log');
  t.notRegex(srv.log(), /timed out/);
});

test('a client that reads slowly is not the handler’s fault', async (t) => {
  const srv = await hasty();
  const client = await connectRaw(t, srv.port('much'));
  client.socket.pause();
  // Each of them ends with handler_timeout.
  for (let at = 0; at < 2; at++) t.is(await exchange(t, srv.port('done'), 'a'), '');
  client.socket.resume();
  t.is((await client.receiveAll()).length, 20_000_000);
});

for (const [name, reason] of Object.entries(FAILING)) {
  test(`a handler that fails costs its session 500, and is logged with its module: ${name}`, async (t) => {
    const srv = await hasty();
    t.is(await exchange(t, srv.port(name), 'a'), '');
    await srv.waitForLog(new RegExp(`\\[crit\\] .*a handler of "acme" failed: ${reason}.*, server: 127.0.0.1:${srv.port(name)}`));
    await srv.waitForLog(new RegExp(`^${srv.port(name)} 500$`, 'm'), 'logs/access.log');
  });
}

test('a preread handler is asked once more when no more will come, and decides about the session', async (t) => {
  const srv = await hasty();
  const [silent, short] = [await connectRaw(t, srv.port('over')), await connectRaw(t, srv.port('over'))];
  short.send('abc');
  t.is(await silent.receiveAll(), 'over: 0', 'preread_timeout');
  t.is(await short.receiveAll(), 'over: 3', 'preread_timeout');
  t.is(await exchange(t, srv.port('over'), 'x'.repeat(200)), 'over: 100', 'preread_buffer_size');
  const ended = await connectRaw(t, srv.port('over'));
  ended.socket.end('abcd');
  t.is(await ended.receiveAll(), 'over: 4', 'the end of the client');
});

test('a preread handler that wants more than there will be ends its session', async (t) => {
  const srv = await hasty();
  const port = srv.port('never_over');
  const silent = await connectRaw(t, port);
  t.is(await silent.receiveAll(), '');
  await srv.waitForLog(/\[info\] .*client timed out \(110: Connection timed out\) while prereading client data/);
  await srv.waitForLog(new RegExp(`^${port} 200$`, 'm'), 'logs/access.log');
  t.is(await exchange(t, port, 'x'.repeat(200)), '');
  await srv.waitForLog(/\[error\] .*preread buffer full/);
  await srv.waitForLog(new RegExp(`^${port} 400$`, 'm'), 'logs/access.log');
});

test('QUIT waits for a handler no longer than handler_timeout', async (t) => {
  const srv = await start(t, 'handler_timeout 500ms;');
  const clients = await Promise.all(['never', 'done'].map((name) => connectRaw(t, srv.port(name))));
  // A session that ended shows that the ones before it have begun.
  t.is(await exchange(t, srv.port('slow'), ''), 'slow');
  t.is((await srv.stop('SIGQUIT')).code, 0);
  for (const client of clients) t.is(await client.receiveAll(), '');
});

test('handler_timeout is a directive of stream and its servers', async (t) => {
  const { code, stderr } = await check(
    t,
    `events {} stream { handler_timeout 5s; server { listen 127.0.0.1:%%PORT_a%%; handler_timeout 0; return a; } }`,
  );
  t.is(code, 0, stderr);
});
