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
      slow: { content: async (session) => {
        await new Promise((done) => setTimeout(done, 300));
        return session.send('slow');
      } },
    };
    compile(scope) { return this.handlers[scope.conf.does]; }`,
});

const NAMES = ['never', 'never_access', 'never_preread', 'slow'];

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

const hasty = shared((scope) => start(scope, 'handler_timeout 300ms;'));

for (const name of ['never', 'never_access', 'never_preread']) {
  test(`a session whose handler never settles ends with 500 after handler_timeout, and its client is closed: ${name}`, async (t) => {
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

test('QUIT waits for a handler no longer than handler_timeout', async (t) => {
  const srv = await start(t, 'handler_timeout 500ms;');
  const client = await connectRaw(t, srv.port('never'));
  // A session that ended shows that the one before it has begun.
  t.is(await exchange(t, srv.port('slow'), ''), 'slow');
  t.is((await srv.stop('SIGQUIT')).code, 0);
  t.is(await client.receiveAll(), '');
});

test('handler_timeout is a directive of stream and its servers', async (t) => {
  const { code, stderr } = await check(
    t,
    `events {} stream { handler_timeout 5s; server { listen 127.0.0.1:%%PORT_a%%; handler_timeout 0; return a; } }`,
  );
  t.is(code, 0, stderr);
});
