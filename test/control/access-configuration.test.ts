import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { configErrorsOf } from '../../core/config/errors.js';
import { findInstallation } from '../../core/kernel/installation.js';
import { InputFiles } from '../../core/config/input-files.js';
import { inputFile } from '../../core/config/input-file.js';
import { FailedAttempts } from '../../core/api/access/failed-attempts.js';
import { Scopes } from '../../core/api/access/scopes.js';
import { findToken, hashOf, makeToken, printTokenLine, tokensIn } from '../../core/api/access/token-file.js';
import { appliedChange } from '../../core/changes/applied-change.js';
import { nginxRegistry } from '../config/nginx-specs.js';
import { check } from '../harness/check.js';
import { selfSigned } from '../harness/certificate.js';
import { shared } from '../harness/scope.js';
import { runSrv, type Run } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';

const { cert, key } = selfSigned('localhost');
const TLS = 'ssl_certificate c.pem; ssl_certificate_key c.key;';
const BASIC = 'auth_basic x; auth_basic_user_file open;';
const MAIN = `helper broker modules/srv_helper_broker_module.so conf/broker.conf;
helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf; events {}`;

/** Messages of `-t` about servers of the control plane, the first of which is on line 2. Each has ports of its own. */
async function checked(t: ExecutionContext, servers: readonly string[]): Promise<string> {
  const lines = servers.map((server, at) => server.replaceAll('%%PORT_a%%', `%%PORT_p${at}%%`));
  const ctrl = `load_module modules/srv_http_sendmsg_module.so; events {} http {\n${lines.join('\n')}\n}`;
  const files = { 'conf/broker.conf': '', 'conf/ctrl.conf': ctrl, 'conf/open': '', 'conf/c.pem': cert, 'conf/c.key': key };
  return (await check(t, MAIN, files)).stderr;
}

/** Each server has the error that goes with it, on its line. */
async function assertErrors(t: ExecutionContext, cases: readonly (readonly [server: string, error: string])[]): Promise<void> {
  const said = await checked(
    t,
    cases.map(([server]) => server),
  );
  for (const [at, [server, error]] of cases.entries()) t.regex(said, new RegExp(`\\[emerg\\] ${error} in .*ctrl.conf:${at + 2}\n`), server);
}

test('an API that other machines reach requires authentication', async (t) => {
  const api = 'location /api { dyn_module_api; }';
  const all = String.raw`0\.0\.0\.0:\d+`;
  const rejected: [server: string, address: string][] = [
    [`server { listen %%PORT_a%%; ${api} }`, all],
    [`server { listen 127.0.0.1:%%PORT_a%%; listen [::]:%%PORT_a%%; ${api} }`, String.raw`\[::\]:\d+`],
    [`server { listen 10.0.0.1:%%PORT_a%%; ${api} }`, String.raw`10\.0\.0\.1:\d+`],
    [`server { ${api} }`, String.raw`\*`],
    ['server { listen %%PORT_a%%; location /kv { dyn_sendmsg_kv; } }', all],
    [`server { listen %%PORT_a%%; auth_basic off; auth_basic_user_file users; ${api} }`, all],
    [`server { listen %%PORT_a%%; auth_basic x; ${api} }`, all],
    [`server { listen %%PORT_a%%; allow 10.0.0.0/8; deny all; ${api} }`, all],
    [`server { listen %%PORT_a%%; ${TLS} ssl_verify_client on; ssl_client_certificate c.pem; ${api} }`, all],
    [`server { listen %%PORT_a%% ssl; ${TLS} ssl_verify_client optional; ssl_client_certificate c.pem; ${api} }`, all],
    [`server { listen %%PORT_a%%; api_tokens off; ${api} }`, all],
    [`server { listen %%PORT_a%%; satisfy any; allow all; ${BASIC} ${api} }`, all],
    [`server { listen %%PORT_a%%; ${BASIC} location /api { satisfy any; allow 10.0.0.0/8; deny all; dyn_module_api; } }`, all],
    [`server { listen %%PORT_a%%; satisfy any; ${BASIC} location / { allow all; location /api { dyn_module_api; } } }`, all],
    [`server { listen %%PORT_a%%; satisfy any; allow all; auth_request /auth; ${api} }`, all],
    [`server { listen %%PORT_a%%; ${BASIC} location /api { auth_basic off; dyn_module_api; } }`, all],
    [`server { listen %%PORT_a%%; ${BASIC} location / { auth_basic off; location /api { dyn_module_api; } } }`, all],
    [`server { listen %%PORT_a%%; ${BASIC} location /api { limit_except GET { auth_basic off; } dyn_module_api; } }`, all],
    [`server { listen %%PORT_a%%; auth_basic $http_x; auth_basic_user_file open; ${api} }`, all],
    [`server { listen %%PORT_a%%; location /api { dyn_module_api; api_limit_except kv GET { ${BASIC} } } }`, all],
  ];
  await assertErrors(
    t,
    rejected.map(([server, address]) => [server, `the API on "${address}" requires clients to authenticate`]),
  );
  const accepted = [
    `server { listen 127.0.0.1:%%PORT_a%%; listen 127.1.2.3:%%PORT_a%%; listen unix:%%PREFIX%%/s; ${api} }`,
    `server { listen [::1]:%%PORT_a%%; ${api} }`,
    `server { listen %%PORT_a%%; auth_basic x; auth_basic_user_file open; ${api} }`,
    `server { listen %%PORT_a%%; satisfy any; ${BASIC} location /api { satisfy all; allow 10.0.0.0/8; deny all; dyn_module_api; } }`,
    `server { listen %%PORT_a%%; auth_basic "API of $host"; auth_basic_user_file open; ${api} }`,
    `server { listen %%PORT_a%% ssl; ${TLS} ssl_verify_client on; ssl_client_certificate c.pem; ${api} }`,
    `server { listen %%PORT_a%%; auth_request /auth; ${api} }`,
    'server { listen %%PORT_a%%; location / { return 204; } }',
  ];
  t.regex(await checked(t, accepted), /test is successful/);
});

const plain = (settings: string): string => `server { listen 127.0.0.1:%%PORT_a%%; location /api { ${settings} } }`;

const tls = (settings: string): string => `server { listen 127.0.0.1:%%PORT_a%% ssl; ${TLS} ${settings} }`;

test('errors in the settings of access are reported at their lines', async (t) => {
  const place = 'directive.*';
  await assertErrors(t, [
    [plain('dyn_module_api; api_read_only yes;'), `invalid value "yes" in "api_read_only" ${place}`],
    [plain('dyn_module_api; api_failed_attempts 10;'), 'invalid number of arguments in "api_failed_attempts" directive'],
    [plain('dyn_module_api; api_failed_attempts x 1m;'), '"api_failed_attempts" directive invalid number'],
    [plain('dyn_module_api; api_limit_except kv GET { auth_basik x; }'), 'unknown directive "auth_basik"'],
    [tls('ssl_verify_client maybe;'), 'invalid value "maybe"'],
  ]);
  await assertErrors(t, [
    [plain('dyn_module_api; api_tokens missing;'), String.raw`open\(\) ".*conf/missing" failed \(2: No such file or directory\)`],
    [plain('dyn_module_api; api_tokens /dev/zero;'), String.raw`open\(\) "/dev/zero" failed \(not a regular file\)`],
    [plain('dyn_module_api; api_tokens open;'), String.raw`".*conf/open" can be read or changed by other users \(mode 0644\)`],
    [plain('dyn_module_api; api_client_certificate CN=x read;'), '"api_client_certificate" has no effect without "ssl_verify_client"'],
    [plain('dyn_module_api; api_client_certificate sha256:12 read;'), 'invalid fingerprint "sha256:12"'],
    [plain('dyn_module_api; api_client_certificate CN=x raed;'), 'invalid scope "raed"'],
    [plain('dyn_module_api; api_audit_log syslog:server=:;'), 'no host in syslog server ":"'],
    [
      plain('dyn_module_api; api_audit_log /dev/null/there.log;'),
      String.raw`open\(\) "/dev/null/there.log" failed \(20: Not a directory\)`,
    ],
    [plain('dyn_module_api; api_limit_except kv GET { auth_basic x; }'), '"auth_basic" requires "auth_basic_user_file" in the same block'],
    [plain('dyn_module_api; api_limit_except kvs GET { deny all; }'), 'unknown module key "kvs"'],
    [tls('ssl_verify_client on;'), 'no ssl_client_certificate for ssl_verify_client'],
    [tls('ssl_verify_client on; ssl_client_certificate none.pem;'), 'cannot load certificate ".*none.pem": 2: No such file or directory'],
    [tls('ssl_verify_client on; ssl_client_certificate open;'), 'cannot load certificate ".*conf/open": no certificate found'],
  ]);
});

function errorsOf(text: string): string[] {
  try {
    tokensIn(inputFile('/t', Buffer.from(text)));
    return [];
  } catch (error) {
    return (configErrorsOf(error) ?? []).map(({ message, source }) => `${source?.line}: ${message}`);
  }
}

test('errors in the file of tokens are reported at their lines, without what may be a token', (t) => {
  const hash = `sha256:${'0'.repeat(64)}`;
  const text = [
    '# comment',
    `a ${hash} read`,
    '',
    `a ${hash} write`,
    `b srv_secret read`,
    `c ${hash}`,
    `d ${hash} reed`,
    `e ${hash} expires=tomorrow read`,
    `f ${hash} module:kv read`,
    `" ${hash} read`,
  ].join('\r\n');
  t.deepEqual(errorsOf(text), [
    '4: duplicate token name "a"',
    '5: token "b" has no valid hash',
    '6: token "c": no scopes',
    '7: token "d": invalid scope "reed"',
    '8: invalid expiry "expires=tomorrow"',
    '9: token "f": scope "module:kv" must follow "read", "write" or "profile"',
    '10: invalid token name """',
  ]);
  t.deepEqual(errorsOf(''), []);
});

const may = (words: string, isWrite: boolean, key: string, upstream?: string): boolean =>
  new Scopes(words.split(' ')).allow({ isWrite, key, upstream });

test('scopes', (t) => {
  t.true(may('write', true, 'kv'));
  t.true(may('write', false, 'kv'));
  t.false(may('read', true, 'kv'));
  t.true(may('read module:kv module:dyn_loc', false, 'dyn_loc'));
  t.false(may('read module:kv', false, 'dyn_loc'));
  t.true(may('write upstream:shop', true, 'upstream_api', 'shop'));
  t.false(may('write upstream:shop', true, 'upstream_api', 'Shop'));
  t.false(may('write upstream:shop', true, 'upstream_api'));
  t.false(may('read write upstream:shop', true, 'upstream_api', 'other'));
  t.true(may('read write upstream:shop', false, 'upstream_api', 'other'));
  t.true(may('read write module:kv upstream:shop', true, 'upstream_api', 'shop'));
});

test('failed attempts are forgotten in time, counted by network for IPv6, and bounded', (t) => {
  let now = 0;
  const failures = new FailedAttempts(() => now);
  const limit = { count: 2, ms: 1000 };
  failures.add('10.0.0.1', limit);
  t.is(failures.waitOf('10.0.0.1', limit), 0);
  now = 400;
  failures.add('10.0.0.1', limit);
  t.is(failures.waitOf('10.0.0.1', limit), 600);
  t.is(failures.waitOf('::ffff:10.0.0.1', limit), 600);
  t.is(failures.waitOf('::ffff:10.0.0.2', limit), 0);
  now = 1000;
  t.is(failures.waitOf('10.0.0.1', limit), 0);
  for (const last of ['1', '2']) failures.add(`2001:db8::${last}`, limit);
  t.true(failures.waitOf('2001:db8::ffff:3', limit) > 0);
  t.is(failures.waitOf('2001:db8:0:1::3', limit), 0);
  for (let i = 0; i < 30_000; i++) failures.add(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, limit);
  t.true(failures.size <= 10_000, String(failures.size));
});

test('a token is found by its hash alone', (t) => {
  const [one, other] = [makeToken(), makeToken()];
  const tokens = [one, other].map((token, i) => ({ name: `t${i}`, hash: hashOf(token), expires: undefined, scopes: new Scopes(['read']) }));
  t.regex(one, /^srv_[\w-]{43}$/);
  t.is(findToken(tokens, other)?.name, 't1');
  t.is(findToken(tokens, `${other}x`), undefined);
  t.is(findToken(tokens, ''), undefined);
  t.is(findToken([], one), undefined);
  t.false(tokens.map(printTokenLine).join().includes(one));
});

const address = (...steps: string[]): string => steps.map((step) => JSON.stringify(step)).join(',');

test('what the audit log says of a change has no arguments, conditions and entries', (t) => {
  const changes = [
    { address: address('http', 'upstream shop', 'server@7'), after: 'server 10.0.0.9:80 weight=2;\n' },
    { address: address('http', 'server a.org', 'location /', 'return'), before: 'return 200 "{k3y}";\n', after: 'return 204;\n' },
    { address: address('http', 'server a.org', 'location /x / y', '2:if ($arg_k = k3y)', 'return'), before: 'return 204;\n' },
    { address: address('http', 'map $http_key $ok', 'k3y'), after: 'k3y 1;\n' },
    { address: address('http', 'upstream shop'), before: 'upstream shop {\n    server 10.0.0.9;\n}\n' },
  ];
  t.deepEqual(appliedChange(5, changes, nginxRegistry()), {
    version: 5,
    count: 5,
    summary: [
      '+ http / upstream shop / server@7 10.0.0.9:80',
      '~ http / server a.org / location / / return',
      '- http / server a.org / location /x / y / if / return',
      '+ http / map $http_key $ok',
      '- http / upstream shop',
    ],
  });
  const many = Array.from({ length: 30 }, (_, at) => ({
    address: address('http', 'upstream shop', `server@${at}`),
    before: 'server 10.0.0.1;\n',
  }));
  t.is(appliedChange(6, many, nginxRegistry()).summary.length, 20);
});

/** A file of tokens, which the tests of `srv token` change one after the other. */
const tokenFile = shared((scope) => {
  const prefix = tempFolder(scope);
  const file = writeInto(prefix, 'conf/api_tokens', '# ours\n');
  chmodSync(file, 0o600);
  const run = (...args: string[]): Promise<Run> => runSrv(scope, ['token', ...args], undefined, { prefix });
  return Promise.resolve({ prefix, file, run, text: () => readFileSync(file, 'utf8') });
});

test.serial('srv token add prints the token, and keeps its hash', async (t) => {
  const { file, run, text } = await tokenFile();
  const added = await run('add', 'deploy', 'write', 'upstream:shop', '--expires', '30d');
  t.is(added.code, 0);
  t.regex(added.stdout, /^srv_[\w-]{43}\n$/, 'nothing else is on the standard output');
  t.regex(text(), /^# ours\ndeploy sha256:[0-9a-f]{64} expires=\S+Z write upstream:shop\n$/);
  t.true(text().includes(hashOf(added.stdout.trim()).toString('hex')));
  t.is(statSync(file).mode & 0o777, 0o600);
  t.false(existsSync(`${file}.new`));
});

test.serial('srv token list says what tokens may do', async (t) => {
  const { run } = await tokenFile();
  t.regex((await run('list')).stdout, /^deploy {2}write upstream:shop {2}\(expires \S+Z\)\n$/);
});

for (const [args, message] of [
  [['list', 'x'], /invalid arguments/],
  [['remove', 'x'], /there is no token "x"/],
  [['add', 'x', 'kv'], /token "x": invalid scope "kv"\nsrv: scopes are: read, write/],
  [['add', 'deploy', 'read'], /there is a token "deploy" already/],
  [['add', 'x', 'read', '--expires', '-5d'], /invalid time "-5d": it is written like 30d/],
] as const) {
  test.serial(`srv token ${args.join(' ')} is an error, and changes nothing`, async (t) => {
    const { run, text } = await tokenFile();
    const before = text();
    t.regex((await run(...args)).stderr, message);
    t.is(text(), before);
  });
}

test.serial('srv token names a line that is not a token, and changes nothing', async (t) => {
  const { file, run, text } = await tokenFile();
  const before = text();
  writeFileSync(file, `${before}garbage\n`);
  for (const args of [['list'], ['add', 'x', 'read'], ['remove', 'deploy']]) {
    const { code, stdout, stderr } = await run(...args);
    t.is(code, 1, args[0]);
    t.is(stdout, '');
    t.regex(stderr, /^srv: \[emerg\] token "garbage" has no valid hash in .*conf\/api_tokens:3\nsrv: a line is NAME/);
    t.is(text(), `${before}garbage\n`);
  }
  writeFileSync(file, before);
});

test('a file that is a FIFO to which nobody writes, or a device, is an error, and not waited for', (t) => {
  const path = join(tempFolder(t), 'fifo');
  execFileSync('mkfifo', [path]);
  const files = new InputFiles();
  files.begin(true, undefined);
  t.throws(() => files.read(path), { message: 'no process writes to the named pipe' });
  t.throws(() => files.read('/dev/zero'), { message: 'not a regular file' });
});

test.serial('srv token rejects a file that others can read', async (t) => {
  const { file, run } = await tokenFile();
  chmodSync(file, 0o604);
  t.regex((await run('list')).stderr, /can be read or changed by other users \(mode 0604\), only its owner may: chmod 600 /);
  chmodSync(file, 0o600);
});

test.serial('srv token remove takes the line of the token out', async (t) => {
  const { run, text } = await tokenFile();
  t.is((await run('remove', 'deploy')).code, 0);
  t.is(text(), '# ours\n');
});

test.serial('srv token add -f makes the file', async (t) => {
  const { prefix, run } = await tokenFile();
  t.is((await run('add', 'first', 'read', '-f', join(prefix, 'new'))).code, 0);
  t.is(statSync(join(prefix, 'new')).mode & 0o777, 0o600);
});

test('the configurations of docs/access.md work', async (t) => {
  const page = readFileSync(join(findInstallation().root, 'docs/access.md'), 'utf8');
  const blocks = Array.from(page.matchAll(/^ {4}(?:http|server) \{\n(?: {5,}.*\n|\n)* {4}\}\n/gm), ([block]) => block);
  t.is(blocks.length, 2);
  const [tokens = '', certificates = ''] = blocks.map((block) =>
    block
      .replaceAll(/\b(?:clients-ca|api)\.pem/g, 'c.pem')
      .replace('api.key', 'c.key')
      .replace(/sha256:\S+/, `sha256:${'0'.repeat(64)}`),
  );
  const prefix = tempFolder(t);
  const file = writeInto(prefix, 'conf/api_tokens', '');
  chmodSync(file, 0o600);
  const http = tokens
    .replace(/\}\s*$/, `${certificates.replace('8443', '%%PORT_c%%')}}`)
    .replace('8443', '%%PORT_a%%')
    .replace('8081', '%%PORT_b%%');
  const files = { 'conf/broker.conf': '', 'conf/ctrl.conf': `events {}\n${http}`, 'conf/c.pem': cert, 'conf/c.key': key, 'logs/x': '' };
  const { stderr } = await check(t, MAIN, files, { prefix });
  t.regex(stderr, /test is successful/);
  t.notRegex(stderr, /\[warn\]/);
});

test('an API that every user may use as root is warned of', async (t) => {
  if (process.getuid?.() !== 0) return t.pass();
  const warns = async (server: string, main = MAIN): Promise<boolean> => {
    const ctrl = `load_module modules/srv_http_sendmsg_module.so; events {} http { ${server} }`;
    const { code, stderr } = await check(t, main, { 'conf/broker.conf': '', 'conf/ctrl.conf': ctrl, 'conf/users': '' });
    t.is(code, 0, stderr);
    return /\[warn\] the API requires no authentication, and the server runs as root: .*set "user", or "api_tokens"/.test(stderr);
  };
  const api = 'location /api { dyn_module_api; }';
  t.true(await warns(`server { listen 127.0.0.1:%%PORT_a%%; ${api} }`));
  t.true(await warns(`server { listen 127.0.0.1:%%PORT_a%%; ${api} }`, `user root; ${MAIN}`));
  t.false(await warns(`server { listen 127.0.0.1:%%PORT_a%%; ${api} }`, `user nobody nogroup; ${MAIN}`));
  t.false(await warns(`server { listen 127.0.0.1:%%PORT_a%%; api_read_only on; ${api} }`));
  t.false(await warns(`server { listen 127.0.0.1:%%PORT_a%%; auth_basic a; auth_basic_user_file users; ${api} }`));
  t.false(await warns(`server { listen unix:%%PREFIX%%/api.sock; ${api} }`));
  t.false(await warns('server { listen 127.0.0.1:%%PORT_a%%; return 200; }'));
});
