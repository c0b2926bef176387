import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get, type HttpResponse } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const isRoot = process.getuid?.() === 0;
/** Number of the user `daemon`, the same on every system. */
const DAEMON = 1;

/** A control plane of its own beside a server of {@link conf}, with logs of its own. */
const helpers = {
  lines: `helper broker modules/srv_helper_broker_module.so conf/broker.conf;
helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
`,
  files: {
    'conf/broker.conf': '',
    'conf/ctrl.conf': `error_log logs/ctrl.log notice;
events {}
http { access_log logs/ctrl_access.log; server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; } } }
`,
  },
};

const conf = (user: string): string => `
user ${user};
error_log logs/error.log notice;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ok"; } }
`;

/** The same with TLS, by a key in this folder of the prefix. */
const withKeys = (folder: string): string =>
  conf('daemon daemon').replace('http {', `http { ssl_certificate ../${folder}/cert.pem; ssl_certificate_key ../${folder}/key.pem;`);

/** A prefix that everybody may enter, with a folder for logs that only root may change. */
function rootsPrefix(t: ExecutionContext): string {
  const prefix = tempFolder(t);
  chmodSync(prefix, 0o755);
  mkdirSync(`${prefix}/logs`);
  return prefix;
}

/** The user of the server that root's process has started. */
function identity(pid: number): string {
  const server = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0] || pid;
  const status = readFileSync(`/proc/${server}/status`, 'utf8');
  return /^Uid:\s+(\d+)/m.exec(status)?.[1] ?? '';
}

if (isRoot) {
  test('the server runs as the user, and goes on writing its files', async (t) => {
    const prefix = rootsPrefix(t);
    const srv = await startSrv(t, conf('daemon daemon'), { prefix });
    const uid = await waitFor('another user', () => identity(srv.pid) !== '0' && identity(srv.pid));
    t.is(String(statSync(srv.path('logs/error.log')).uid), uid);
    t.is(String(statSync(srv.path('data')).uid), uid);
    t.is((await get(srv.port('web'), '/')).body, 'ok');
    await srv.configure(conf('daemon daemon').replace('"ok"', '"changed"'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is((await get(srv.port('web'), '/')).body, 'changed');
    t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
    t.false(existsSync(srv.path('logs/srv.pid')), "in root's folder as well");
  });

  test("the folders of temporary files and caches are the user's", async (t) => {
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    mkdirSync(`${prefix}/logs`);
    mkdirSync(`${prefix}/bodies`);
    writeFileSync(`${prefix}/bodies/other`, '');
    const backend = await httpBackend(t, (request, response) => void bodyOf(request).then((body) => response.end(String(body.length))));
    const proxying = `client_body_temp_path bodies; proxy_cache one; proxy_cache_valid 1h; location / { proxy_pass http://127.0.0.1:${backend.port}; } location /app { fastcgi_pass 127.0.0.1:1; }`;
    const cache = 'proxy_cache_path cache keys_zone=one:64k; server';
    const srv = await startSrv(t, conf('daemon daemon').replace('server', cache).replace('return 200 "ok";', proxying), { prefix });
    const uid = await waitFor('another user', () => identity(srv.pid) !== '0' && identity(srv.pid));
    const upload = (): Promise<HttpResponse> => get(srv.port('web'), '/', { method: 'POST', body: 'x'.repeat(100_000) });
    t.is((await upload()).body, '100000');
    await get(srv.port('web'), '/cached');
    await waitFor('a file', () => readdirSync(srv.path('cache')).length === 1);
    for (const folder of ['bodies', 'proxy_temp', 'fastcgi_temp', 'cache']) t.is(String(statSync(srv.path(folder)).uid), uid, folder);
    t.is(statSync(srv.path('bodies/other')).uid, 0, "what is in it may be anybody's");
    chownSync(srv.path('bodies'), 0, 0);
    t.is((await upload()).status, 500);
    await srv.waitForLog(/\[crit\] .* open\(\) "\/.*\/bodies\/0000000002" failed \(13: Permission denied\)/);
  });

  test('the helpers write their logs as the user too, a reload keeps them, and a check as root leaves those that it makes to the user', async (t) => {
    const srv = await startSrv(t, helpers.lines + conf('daemon daemon'), { prefix: rootsPrefix(t), files: helpers.files });
    const uid = await waitFor('another user', () => identity(srv.pid) !== '0' && identity(srv.pid));
    await waitFor('the API', () =>
      get(srv.port('api'), '/api/').then(
        () => true,
        () => false,
      ),
    );
    await srv.waitForLog(/\/api\//, 'logs/ctrl_access.log');
    for (const name of ['ctrl.log', 'ctrl_access.log']) t.is(String(statSync(srv.path(`logs/${name}`)).uid), uid, name);
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.notRegex(srv.log(), /\[emerg\]/);

    // A check as root leaves the logs that it makes to the user: a reload after it can open them.
    const ownerOf = (name: string): string => String(statSync(srv.path(`logs/${name}`)).uid);
    writeFileSync(srv.path('logs/old.log'), '');
    await srv.configure(helpers.files['conf/ctrl.conf'].replace('ctrl_access', 'ctrl_new'), 'conf/ctrl.conf');
    const changed = helpers.lines + conf('daemon daemon').replace('http {', 'http { access_log logs/new.log; access_log logs/old.log;');
    await srv.configure(changed);
    t.is((await runSrv(t, ['-t', '-e', 'logs/check.log'], undefined, { prefix: srv.prefix })).code, 0);
    for (const name of ['check.log', 'new.log']) t.is(ownerOf(name), uid, name);
    t.is(ownerOf('old.log'), '0');
    rmSync(srv.path('logs/old.log'));
    await srv.configure(changed);
    t.is((await runSrv(t, ['-s', 'reload'], undefined, { prefix: srv.prefix })).code, 0);
    await srv.waitForLog(/reconfigured[^]*reconfigured/);
    for (const name of ['old.log', 'ctrl_new.log']) t.is(ownerOf(name), uid, name);
  });

  test("a folder for logs that the start makes is the user's", async (t) => {
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    t.is((await runSrv(t, ['-t'], conf('daemon daemon'), { prefix })).code, 0);
    const uid = statSync(`${prefix}/logs`).uid;
    t.not(uid, 0);
    const srv = await startSrv(t, conf('daemon daemon'), { args: ['-e', 'var/log/early'], prefix });
    await waitFor('another user', () => identity(srv.pid) === String(uid));
    for (const folder of ['var', 'var/log']) t.is(statSync(srv.path(folder)).uid, uid, folder);
    await srv.stop('SIGQUIT');
    t.false(existsSync(srv.path('logs/srv.pid')));
  });

  test('-s reopen lets the server make the new logs in its own folder', async (t) => {
    const prefix = rootsPrefix(t);
    chownSync(`${prefix}/logs`, DAEMON, DAEMON);
    const srv = await startSrv(t, conf('daemon daemon'), { prefix });
    await waitFor('another user', () => identity(srv.pid) !== '0');
    renameSync(srv.path('logs/error.log'), srv.path('logs/error.1'));
    const { code, stderr } = await runSrv(t, ['-s', 'reopen'], undefined, { prefix });
    t.is(code, 0, stderr);
    await waitFor('the new log', () => existsSync(srv.path('logs/error.log')));
    t.is(statSync(srv.path('logs/error.log')).uid, DAEMON);
    await srv.configure(conf('daemon daemon'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.notRegex(srv.read('logs/error.1'), /Permission denied/);
  });

  test('a start that is rejected leaves its log to the user, and so does one in the background', async (t) => {
    const refused = await runSrv(t, [], `${conf('daemon daemon')} foo;`);
    t.is(refused.code, 1);
    for (const path of ['logs', 'logs/error.log']) t.not(statSync(`${refused.prefix}/${path}`).uid, 0, path);
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    const started = await runSrv(t, [], conf('daemon daemon'), { prefix });
    const ended = await runSrv(t, ['-s', 'quit'], undefined, { prefix });
    t.is(started.code, 0);
    t.is(ended.code, 0);
    t.not(statSync(`${prefix}/logs`).uid, 0);
    await waitFor('the end of the server', () => !existsSync(`${prefix}/logs/srv.pid`));
  });

  test('a start as root without the directive is warned of, and one with it is not', async (t) => {
    const warning = /\[warn\] .*the server runs with super-user privileges: set the "user" directive/;
    const without = await startSrv(t, conf('root').replace('user root;', ''));
    t.truthy(await without.waitForLog(warning));
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    const dropped = await startSrv(t, conf('daemon'), { prefix });
    t.is((await get(dropped.port('web'), '/')).body, 'ok');
    t.notRegex(dropped.log(), warning);
  });

  test('-t as root reports what the user could not read and root would not read for it', async (t) => {
    const prefix = rootsPrefix(t);
    const { key, cert } = selfSigned('a.example');
    for (const folder of ['roots', 'users']) {
      mkdirSync(`${prefix}/${folder}`);
      writeFileSync(`${prefix}/${folder}/key.pem`, key, { mode: 0o600 });
      writeFileSync(`${prefix}/${folder}/cert.pem`, cert);
    }
    chownSync(`${prefix}/users`, DAEMON, DAEMON);
    t.is((await runSrv(t, ['-t'], withKeys('roots'), { prefix })).code, 0);
    const { code, stderr } = await runSrv(t, ['-t'], withKeys('users'), { prefix });
    t.is(code, 1);
    t.true(
      stderr.startsWith(`srv: [emerg] open() "${prefix}/users/key.pem" failed for the user of the server (13: Permission denied)`),
      stderr,
    );
  });

  test("secrets of Redis may be root's alone: it reads them for the server, also at a reload", async (t) => {
    const prefix = rootsPrefix(t);
    mkdirSync(`${prefix}/secrets`, { mode: 0o700 });
    writeFileSync(`${prefix}/secrets/password`, 'some', { mode: 0o600 });
    writeFileSync(`${prefix}/secrets/key`, '0123456789abcdef'.repeat(2), { mode: 0o600 });
    const text = `load_module modules/srv_redis_module.so;
cluster_name c;
node_name a;
redis main { url redis://127.0.0.1:%%PORT_none%%; password_file ../secrets/password; }
cluster_changes redis main;
cluster_key_file ../secrets/key;${conf('daemon daemon')}`;
    const srv = await startSrv(t, text, { prefix });
    t.is((await get(srv.port('web'), '/')).body, 'ok');
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    writeFileSync(`${prefix}/secrets/key`, 'short');
    srv.signal('SIGHUP');
    await srv.waitForLog(/"\/.*\/secrets\/key" has fewer than 32 characters/);
    t.is((await get(srv.port('web'), '/')).body, 'ok');
  });

  test('-t as root reports folders of include patterns and logs that the user could not use, and warns of folders of files, as a start does', async (t) => {
    const prefix = rootsPrefix(t);
    mkdirSync(`${prefix}/closed/files`, { recursive: true });
    mkdirSync(`${prefix}/users`);
    writeFileSync(`${prefix}/users/a.log`, '');
    chownSync(`${prefix}/users`, DAEMON, DAEMON);
    chmodSync(`${prefix}/closed`, 0o700);
    const checked = async (text: string): Promise<{ readonly code: number | null; readonly stderr: string }> =>
      runSrv(t, ['-t'], conf('daemon daemon').replace('return 200 "ok";', text), { prefix });
    const include = await checked('include ../closed/*.conf;');
    t.is(include.code, 1);
    t.true(include.stderr.startsWith(`srv: [emerg] opendir() "${prefix}/closed" failed (13: Permission denied) in `), include.stderr);
    const log = await checked('access_log users/a.log;');
    t.is(log.code, 1);
    t.true(
      log.stderr.startsWith(`srv: [emerg] open() "${prefix}/users/a.log" failed for the user of the server (13: Permission denied)`),
      log.stderr,
    );
    const places = 'root closed/files; location /a { alias closed; } location /b { root users; } location /c { root closed/$host; }';
    const folders = await checked(places);
    t.is(folders.code, 0, folders.stderr);
    const warnings = [
      `srv: [warn] "root" "${prefix}/closed/files" cannot be entered by the user of the server (13: Permission denied): requests for its files get 403`,
      `srv: [warn] "alias" "${prefix}/closed" cannot be entered by the user of the server (13: Permission denied): requests for its files get 403`,
    ];
    t.deepEqual(folders.stderr.split('\n').slice(0, 2), warnings);
    const srv = await startSrv(t, conf('daemon daemon').replace('return 200 "ok";', places), { prefix });
    for (const warning of warnings) t.true(srv.stderr.includes(warning), srv.stderr);
  });

  for (const [user, message] of [
    ['no-such-user', 'getpwnam("no-such-user") failed'],
    ['daemon no-such-group', 'getgrnam("no-such-group") failed'],
  ] as const) {
    test(`rejected by -t and by a start: user ${user}`, async (t) => {
      for (const args of [['-t'], []]) {
        const { code, stderr, prefix } = await runSrv(t, args, `user ${user};\ndaemon off;\nevents {}\n`);
        t.is(code, 1);
        t.true(stderr.startsWith(`srv: [emerg] ${message} in ${prefix}/conf/srv.conf:1\n`), stderr);
      }
    });
  }
} else {
  test('as an ordinary user the directive is ignored, with a warning', async (t) => {
    const srv = await startSrv(t, conf('daemon'));
    t.truthy(await srv.waitForLog(/\[warn\] .*the "user" directive makes sense only if/));
  });
}
