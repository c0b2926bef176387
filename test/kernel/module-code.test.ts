/** What the code of modules may do to the process that loads it. */
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { runSrv, startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const conf = (more: string, location = ''): string => `
${more}
error_log logs/error.log notice;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} return 200 "fine"; } } }`;

/** Reloads that configuration and waits for what becomes of it; returns what was logged since. */
async function reload(srv: Srv, text: string): Promise<string> {
  const before = srv.log().length;
  await srv.configure(text);
  srv.signal('SIGHUP');
  const since = (): string => srv.log().slice(before);
  await waitFor('the end of the reload', () => /reconfigured|stays as it was/.test(since()));
  return since();
}

const EXITS: Readonly<Record<string, string>> = {
  imported: plugin('imported', { imports: 'process.exit(3);' }),
  constructed: plugin('constructed', { body: 'constructor() { process.exit(3); }' }),
  compiled: plugin('compiled', { body: 'compile() { process.exit(3); }' }),
  started: plugin('started', { body: `async start(role) { if (role === 'master') { await null; process.exit(3); } }` }),
};

test('process.exit in a module makes the reload or the check fail, and ends nothing', async (t) => {
  const files = Object.fromEntries(Object.entries(EXITS).map(([name, text]) => [`modules/${name}.mjs`, text]));
  const srv = await startSrv(t, conf(''), { files });
  for (const name of Object.keys(EXITS)) {
    t.regex(
      await reload(srv, conf(`load_module modules/${name}.mjs;`)),
      new RegExp(`"?${name}.*process\\.exit\\(3\\) is not allowed`),
      name,
    );
    t.is((await get(srv.port('web'), '/')).body, 'fine', name);
  }
  for (const name of ['imported', 'constructed', 'compiled']) {
    const { code, stderr } = await runSrv(t, ['-t'], conf(`load_module modules/${name}.mjs;`), { files });
    t.is(code, 1, name);
    t.regex(stderr, /process\.exit\(3\) is not allowed/, name);
  }
  t.is((await srv.stop('SIGQUIT')).code, 0);
});

test('a module that leaves a handle open when it is imported keeps no command from ending', async (t) => {
  const files = { 'modules/open.mjs': plugin('open', { imports: 'setInterval(() => {}, 1000);' }) };
  const srv = await startSrv(t, conf('load_module modules/open.mjs;'), { files });
  const { prefix } = srv;
  t.is((await runSrv(t, ['-t', '-c', 'conf/srv.conf'], undefined, { prefix })).code, 0);
  t.is((await runSrv(t, ['-s', 'reload', '-c', 'conf/srv.conf'], undefined, { prefix })).code, 0);
  await srv.waitForLog(/reconfigured/);
});
