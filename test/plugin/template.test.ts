/** The plugin template, copied, built, tested and loaded as its README says. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { codeBlocks, ROOT } from './readme.js';

const MODULE = 'dist/modules/acme_http_server_timing_module.mjs';
const run = promisify(execFile);

/** Runs commands of the README in a shell whose home folder has srv in it, without a network. */
async function follow(home: string, commands: readonly string[]): Promise<string> {
  const { stdout } = await run('sh', ['-euc', commands.join('\n')], {
    cwd: home,
    // Nothing of an npm that runs this test: only what a shell would have.
    env: { HOME: home, PATH: process.env['PATH'], npm_config_offline: 'true', npm_config_update_notifier: 'false' },
  });
  return stdout;
}

const home = mkdtempSync(join(tmpdir(), 'srv-test-'));
/** A copy of the template, built and tested once for all tests. */
const folder = join(home, 'my-module');
let output = '';

test.before(async () => {
  symlinkSync(ROOT, join(home, 'srv'));
  const [copy, install, build] = codeBlocks('Make it work');
  output = await follow(home, [copy, install, build].map(String));
});
test.after.always(() => rmSync(home, { recursive: true, force: true }));

test('a copy of the template is built, passes its test, and works', async (t) => {
  t.regex(output, /^. pass [1-9]/m, 'its own test has run');
  t.regex(output, /^. fail 0$/m);

  const conf = readFileSync(join(folder, 'conf/srv.conf'), 'utf8');
  t.regex(conf, /listen 127\.0\.0\.1:8090;/);
  const srv = await startSrv(t, conf.replaceAll(':8090', ':%%PORT_web%%'), { prefix: folder });
  t.regex((await get(srv.port('web'), '/')).headers['server-timing'] as string, /^total;dur=\d+$/);
  t.regex((await get(srv.port('web'), '/proxied')).headers['server-timing'] as string, /^total;dur=\d+, upstream;dur=\d+$/);
  t.is((await get(srv.port('web'), '/untimed')).headers['server-timing'], undefined);
});

test('the built file alone is loaded by a server that is running', async (t) => {
  const srv = await startSrv(t, site('', ''), { files: { [MODULE]: readFileSync(join(folder, MODULE), 'utf8') } });
  t.is((await get(srv.port('web'), '/')).headers['server-timing'], undefined);

  await srv.configure(site(`load_module ${MODULE};`, 'server_timing on;'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is(srv.stderr, '');
  t.truthy((await get(srv.port('web'), '/')).headers['server-timing']);
});

test('the folder is a package that load_module finds by its name', async (t) => {
  const prefix = tempFolder(t);
  mkdirSync(join(prefix, 'node_modules'));
  symlinkSync(folder, join(prefix, 'node_modules/acme-http-server-timing'));
  const { code, stderr } = await runSrv(t, ['-tq'], site('load_module acme-http-server-timing;', 'server_timing on;'), { prefix });
  t.is(code, 0, stderr);
});

for (const type of ['module', 'commonjs']) {
  test(`the built file alone is loaded without a warning, below a package.json of type ${type}`, async (t) => {
    const files = { 'package.json': `{ "type": "${type}" }`, [MODULE]: readFileSync(join(folder, MODULE), 'utf8') };
    const { code, stderr } = await runSrv(t, ['-tq'], site(`load_module ${MODULE};`, 'server_timing on;'), { files });
    t.is(code, 0);
    t.is(stderr, '');
  });
}

function site(main: string, location: string): string {
  return `${main} error_log logs/error.log notice; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} return 200 "hello"; } } }`;
}
