/** Sessions that modules read: their first bytes, and all of them. */
import test from 'ava';
import { exchange } from '../harness/client.js';
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

const site = shared((scope) =>
  startSrv(
    scope,
    `load_module modules/slow.mjs; error_log logs/error.log info; events {}
    stream {
      preread_timeout 300ms;
      server { listen 127.0.0.1:%%PORT_slow%%; slow; return $calls; }
    }`,
    { files: { 'modules/slow.mjs': SLOW } },
  ),
);

test('a preread handler that is awaited when preread_timeout is over is called once more when it has settled', async (t) => {
  const srv = await site();
  t.is(await exchange(t, srv.port('slow'), 'a'), '2');
});
