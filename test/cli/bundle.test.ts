import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const ROOT = resolve(import.meta.dirname, '../../..');

/** An installation of its own, built from the one under test, with a bundle. */
const installation = shared((scope) => {
  const root = tempFolder(scope);
  for (const name of ['dashboard', 'dist/core', 'dist/modules', 'dist/tools', 'dist/.tsbuildinfo', 'package.json']) {
    cpSync(join(ROOT, name), join(root, name), { recursive: true, preserveTimestamps: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'dist/tools/bundle.js')], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return Promise.resolve(root);
});

/** What the command of an installation prints for `-v`. */
function run(root: string): string {
  return spawnSync(process.execPath, [join(root, 'dist/core/cli/srv.js'), '-v'], { encoding: 'utf8' }).stderr;
}

const THROWS = plugin('throws', {
  manifest: `directives: { throws: directive({ in: ['location'], args: text() }) }`,
  body: `compile(scope) { return scope.conf.throws && { content: request => request.variable(undefined) }; }`,
});

test.serial('a server from the bundle loads shipped modules and plugins, and its stacks name lines of the sources', async (t) => {
  const root = await installation();
  const srv = await startSrv(
    t,
    `worker_processes 2;
    load_module modules/srv_http_multi_header_module.so;
    load_module modules/throws.js;
    events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { add_more_header X-A 1; return 200 "ok"; }
      location /throws { throws x; }
    } }`,
    { files: { 'modules/throws.js': THROWS }, command: join(root, 'dist/core/cli/srv.js') },
  );
  const response = await get(srv.port('web'), '/');
  t.is(response.body, 'ok');
  t.is(response.headers['x-a'], '1');
  t.is((await get(srv.port('web'), '/throws')).status, 500);
  const [stack] = await srv.waitForLog(/TypeError.*/);
  t.regex(stack, /at \S+.*\/core\/\S+\.ts:\d+/);
});

/** Modules of Node.js that are loaded in its worker. */
const LOADED = plugin('loaded', {
  manifest: `directives: { loaded: directive({ in: ['location'] }) }`,
  body: `compile(scope) { return scope.conf.loaded && { content: request => request.send(200, JSON.stringify(process.moduleLoadList)) }; }`,
});

test.serial('a worker loads what it uses of Node.js, and no more', async (t) => {
  const root = await installation();
  const srv = await startSrv(
    t,
    `load_module modules/loaded.js; events {}
    http { upstream u { server 127.0.0.1:1; } server { listen 127.0.0.1:%%PORT_web%%; location / { loaded; } location /u { proxy_pass http://u; } } }`,
    { files: { 'modules/loaded.js': LOADED }, command: join(root, 'dist/core/cli/srv.js') },
  );
  const loaded = new Set((JSON.parse((await get(srv.port('web'), '/')).body) as string[]).map((name) => name.replace('NativeModule ', '')));
  t.true(loaded.has('net'));
  const rare = ['crypto', 'dns/promises', 'fs/promises', 'http', 'http2', 'perf_hooks', 'sqlite', 'tls', 'v8', 'zlib'];
  t.deepEqual(
    rare.filter((name) => loaded.has(name)),
    [],
  );
});

test.serial('all processes and threads of a server use one compile cache of Node.js, since they have the same flags of V8', async (t) => {
  // The build has run a server with helpers. Node.js rejects code that was compiled with other flags, and has a folder for each set of flags.
  const folders = readdirSync(join(await installation(), 'dist/bundle/cache'));
  t.is(folders.filter((name) => name.startsWith('v')).length, 1, folders.join());
});

/** True for a file of compiled code whose checksum is right. */
function isSound(file: string): boolean {
  const content = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  return content.length > 100_000 && content.readUInt32LE() === crc32(content.subarray(8));
}

test.serial('compiled code is kept, and made again where it is damaged', async (t) => {
  const root = await installation();
  // It would be used in place of what is damaged.
  rmSync(join(root, 'dist/bundle/cache'), { recursive: true });
  const cache = tempFolder(t);
  const keeps = async (damage: (file: string) => void): Promise<void> => {
    const env = { NODE_COMPILE_CACHE: cache };
    const srv = await startSrv(t, 'events {} http { server { listen 127.0.0.1:%%PORT_web%%; return 200 ok; } }', {
      command: join(root, 'dist/core/cli/srv.js'),
      env,
    });
    t.is((await get(srv.port('web'), '/')).body, 'ok');
    const files = (): readonly string[] =>
      readdirSync(cache)
        .filter((name) => name.startsWith('srv-'))
        .flatMap((folder) => ['main', 'worker'].map((kind) => join(cache, folder, kind)));
    await waitFor('the code of both threads', () => files().length === 2 && files().every(isSound), 20_000);
    await srv.stop();
    files().forEach(damage);
  };
  await keeps((file) => {
    const content = readFileSync(file);
    content.fill(0, content.length / 2, content.length / 2 + 64);
    writeFileSync(file, content);
  });
  await keeps((file) => writeFileSync(file, ''));
  await keeps(() => undefined);
});

test.serial('a bundle imports no module of Node.js, which would evaluate all of its exports', async (t) => {
  const bundle = join(await installation(), 'dist/bundle');
  const files = readdirSync(bundle, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));
  t.true(files.length > 50);
  t.deepEqual(
    files.filter((file) => /\bimport\b[^;()]*["']node:/.test(readFileSync(join(bundle, file), 'utf8'))),
    [],
  );
});

test.serial('a bundle that is older than what it was made from is not used', async (t) => {
  const root = await installation();
  t.regex(run(root), /^srv version: srv\//);
  const main = join(root, 'dist/bundle/core/cli/main.js');
  writeFileSync(main, `export default () => process.stderr.write('bundle');`);
  t.is(run(root), 'bundle');
  const now = new Date();
  utimesSync(main, now, new Date(now.getTime() - 60_000));
  utimesSync(join(root, 'dist/.tsbuildinfo'), now, now);
  t.regex(run(root), /^srv version: srv\//);
});
