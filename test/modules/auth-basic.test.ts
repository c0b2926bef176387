/** `auth_basic` (ngx_http_auth_basic_module): each status is the one of nginx. */
import { request as httpRequest } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { Passwords } from '../../modules/auth_basic/passwords.js';
import { check } from '../harness/check.js';
import { get, type HttpResponse } from '../harness/client.js';
import { startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

/** The password of each is `secret`, unless there is another one after the hash. */
const USERS = `# a comment
plain:{PLAIN}secret
empty:{PLAIN}
sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=
ssha:{SSHA}8bX4JQDfZqtTfvnQ4ssDmWb17/FTQUxU:and a comment
apr1:$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0
md5:$1$saltsalt$9xy1btjgzLYfb7hivXtC//
des:abNANd1rDfiNc

sha256:$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA
sha512:$6$rounds=1000$saltsalt$LAV5VE5Y7w1d73x1mFNspYWUpazfmwv2SoepNXNKJ/otop/Zok96Hr8Q13LEv0DRY/x8v0/crpIjl8NJSAqXV/\r
bcrypt:$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW
ärger:$5$saltsalt$IHfSSaFZX0R215fgi6ROIxZ6GhH/GzbuYrtSsaXtQAB
long:$6$salt$Df0QIYVbK2VZax4u1BG8vmgr54W4qKLBBNws6I12KQ7K8QeijnaIUs/6V3D/Pm03.3aDOveV4g3oRPdtHstMI/
plain:{PLAIN}second
`;
const NAMES = ['plain', 'sha', 'ssha', 'apr1', 'md5', 'des', 'sha256', 'sha512', 'bcrypt'];

const basic = (text: string | Buffer): string => `Basic ${Buffer.from(text).toString('base64')}`;

/** What is sent as Authorization, and the status. */
const LOGINS: readonly (readonly [field: string | undefined, status: number])[] = [
  ...NAMES.map((name) => [basic(`${name}:secret`), 200] as const),
  ...NAMES.map((name) => [basic(`${name}:wrong`), 401] as const),
  ...NAMES.map((name) => [basic(`${name}:`), 401] as const),
  ...NAMES.map((name) => [basic(`${name}:secret\n`), 401] as const),
  [basic('ärger:päß'), 200],
  [basic('ärger:pass'), 401],
  [basic(Buffer.from('\xe4rger:p\xe4\xdf', 'latin1')), 401],
  [basic(`long:${'y'.repeat(32)}`), 200],
  [basic(`long:${'y'.repeat(33)}`), 401],
  [basic(`sha512:${'y'.repeat(2000)}`), 401],
  [basic('empty:'), 200],
  [basic('empty:x'), 401],
  [basic('plain:second'), 401],
  [basic('plain:secret:more'), 401],
  [basic('Plain:secret'), 401],
  [basic('nobody:secret'), 401],
  [basic('#:x'), 401],
  [basic(':secret'), 401],
  [basic('plain'), 401],
  [basic(''), 401],
  [basic('plain:secret').replace('Basic ', 'bASIC   '), 200],
  [basic('plain:secret').replace('Basic ', 'Bearer '), 401],
  ['Basic', 401],
  ['Basic !!!', 401],
  ['Basic cGxhaW4', 401],
  [basic(Buffer.from([0, 255, 58, 0, 255])), 401],
  [undefined, 401],
];

/** Locations; `FOLDER` has the files, `PORT` listens. */
const LOCATIONS = `
  server {
    listen 127.0.0.1:PORT;
    root FOLDER;
    auth_basic "closed site";
    auth_basic_user_file FOLDER/users;
    location / { }
    location /off { auth_basic off; }
    location /no-file/ { auth_basic_user_file FOLDER/$arg_f.users; }
    location /realm { auth_basic $arg_realm; }
    location /methods { auth_basic off; limit_except GET { auth_basic writers; auth_basic_user_file FOLDER/users; } }
    location /any { satisfy any; allow 127.0.0.1; deny all; }
    location /any-password { satisfy any; deny all; }
    location /all { satisfy all; deny all; }
    location /instead { satisfy any; auth_request /yes; }
    location = /yes { internal; auth_basic off; return 204; }
    location /page { error_page 401 = /login; }
    location = /login { auth_basic off; return 200 login; }
  }`;

function site(t: ExecutionContext, port: number): string {
  const file = 'fine';
  const folder = tempFolder(t, {
    users: USERS,
    'one.users': 'ada:{PLAIN}secret\n',
    off: file,
    'index.html': file,
    realm: file,
    methods: file,
    any: file,
    'any-password': file,
    all: file,
    instead: file,
    page: file,
    'no-file/x': file,
  });
  return LOCATIONS.replaceAll('PORT', String(port)).replaceAll('FOLDER', folder);
}

const PLAIN = { authorization: basic('plain:secret') };

/** Path, method, fields, and what is to come back. */
const CASES: readonly (readonly [string, string, Record<string, string>, number])[] = [
  ['GET', '/off', {}, 200],
  ['GET', '/no-file/x?f=one', { authorization: basic('ada:secret') }, 200],
  ['GET', '/no-file/x?f=one', PLAIN, 401],
  ['GET', '/no-file/x?f=two', PLAIN, 403],
  ['GET', '/no-file/x?f=two', {}, 401],
  ['GET', '/realm?realm=off', {}, 200],
  ['GET', '/realm?realm=', {}, 401],
  ['GET', '/methods', {}, 200],
  ['POST', '/methods', {}, 401],
  ['GET', '/any', {}, 200],
  ['GET', '/any-password', {}, 401],
  ['GET', '/any-password', PLAIN, 200],
  ['GET', '/all', PLAIN, 403],
  ['GET', '/instead', {}, 200],
  ['GET', '/page', {}, 200],
];

async function assertSite(t: ExecutionContext, port: number): Promise<void> {
  for (const [authorization, status] of LOGINS) {
    const response = await get(port, '/', { headers: authorization === undefined ? {} : { authorization } });
    t.is(response.status, status, `${authorization}: ${Buffer.from(authorization?.slice(6) ?? '', 'base64').toString()}`);
    t.is(response.headers['www-authenticate']?.split(',')[0], status === 401 ? 'Basic realm="closed site"' : undefined);
  }
  for (const [method, path, headers, status] of CASES) {
    const response = await get(port, path, { method, headers });
    t.is(response.status, status, `${method} ${path}`);
    t.is(response.headers['www-authenticate'] === undefined, status !== 401 && path !== '/page', path);
  }
}

test('every form of hash, and what clients send', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; events {} http { log_format user '$remote_user $status'; access_log logs/access.log user; ${site(t, port)} }`,
  );
  await assertSite(t, port);
  t.is((await get(port, '/')).headers['www-authenticate'], 'Basic realm="closed site", charset="UTF-8"');
  t.is((await get(port, '/realm?realm=a"b')).headers['www-authenticate'], String.raw`Basic realm="a\"b", charset="UTF-8"`);
  await srv.waitForLog(
    /\[error\] .*user "nobody" was not found in "\S+\/users", client: 127\.0\.0\.1, server: , request: "GET \/ HTTP\/1\.1"/,
  );
  await srv.waitForLog(/\[error\] .*user "ärger": password mismatch, client: /);
  await srv.waitForLog(/\[info\] .*no user\/password was provided for basic authentication, client: /);
  await srv.waitForLog(/\[error\] .*open\(\) "\S+\/two\.users" failed \(2: No such file or directory\), client: /);
  await srv.waitForLog(/^bcrypt 200$/m, 'logs/access.log');
  t.notRegex(srv.log(), /secret|wrong/, 'no password is in the log');
});

testWith('nginx')('nginx has the same statuses', async (t) => {
  const port = await freePort(t);
  await startNginx(t, site(t, port));
  await assertSite(t, port);
});

const ONE_SERVER = `events {} http { server {
  listen 127.0.0.1:%%PORT_web%%;
  auth_basic site; auth_basic_user_file users;
  location / { root html; }
  location /open { auth_basic off; return 200 open; }
} }`;

const PAGE = { 'html/index.html': 'in' };

/** Of another password than `secret`, with 30 times the usual rounds: some tenths of a second. */
const SLOW = '$6$rounds=150000$saltsalt$yx8wXX.x9p.NmnkXLiCS1qYORlf4SxrMO1uOPX7ObHZrWyYU2c/T5P/FdxD2W7rJ5YiQKpfE.uv37frli5Apr0';

/** A server with one user, whose hash takes long. */
const slow = shared((scope) => startSrv(scope, ONE_SERVER, { files: { ...PAGE, 'conf/users': `slow:${SLOW}\n` } }));

test('a worker serves others while passwords are hashed', async (t) => {
  const srv = await slow();
  const port = srv.port('web');
  let logins = 0;
  // On a busy machine a hash may be faster one time.
  await waitFor('five responses while a password is hashed', async () => {
    let isOver = false;
    const login = get(port, '/', { headers: { authorization: basic(`slow:secret${logins++}`) } }).then((response) => {
      isOver = true;
      return response;
    });
    for (let count = 0; count < 5; count++) t.is((await get(port, '/open')).body, 'open');
    const meanwhile = !isOver;
    t.is((await login).status, 401);
    return meanwhile;
  });
});

test('a user that is not there takes as long as a wrong password', async (t) => {
  const srv = await slow();
  const timeOf = async (name: string): Promise<number> => {
    const begin = performance.now();
    t.is((await get(srv.port('web'), '/', { headers: { authorization: basic(`${name}:secret`) } })).status, 401);
    return performance.now() - begin;
  };
  // On a busy machine one of them may wait.
  const leastOf = async (name: string): Promise<number> => Math.min(await timeOf(name), await timeOf(name));
  const [known, unknown] = [await leastOf('slow'), await leastOf('nobody')];
  t.true(unknown > known / 4, `${known} ms and ${unknown} ms`);
});

test('no more passwords wait than are checked in time', async (t) => {
  const passwords = new Passwords();
  t.teardown(() => passwords.stop());
  const user = { stored: '$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW' };
  const check = (password: string): boolean | Promise<boolean> | undefined => passwords.check({ user: 'ada', password }, user, true);
  const checks = Array.from({ length: 500 }, (_, at) => check(`wrong${at}`));
  t.is(check('one more'), undefined);
  t.false(await check('wrong7'), 'one that is under way is no further one');
  t.deepEqual(new Set(await Promise.all(checks.map(async (isRight) => isRight))), new Set([false]));
  t.true(await check('secret'));
  t.is(check('secret'), true, 'known without a thread');
});

test('a password that was right is not hashed for every request; changes of the file are active with a reload', async (t) => {
  const right = '$6$rounds=100000$saltsalt$W6Pjgp5jRhOycjhz1JdUTjE.eBO2c/gf64ukBCYIUsagE3B8HkkRYGvkhQw7S1S6nh6jR9hV6IhhRIHR8xSWY0';
  const srv = await startSrv(t, ONE_SERVER, { files: { ...PAGE, 'conf/users': `ada:${right}\n` } });
  const port = srv.port('web');
  const login = (name: string): Promise<HttpResponse> => get(port, '/', { headers: { authorization: basic(`${name}:secret`) } });
  const begin = performance.now();
  t.is((await login('ada')).status, 200);
  const first = performance.now() - begin;
  for (let count = 0; count < 60; count++) t.is((await login('ada')).status, 200);
  t.true(performance.now() - begin < 30 * first, 'sixty requests take less than thirty hashes');

  writeInto(srv.prefix, 'conf/users', 'eve:{PLAIN}secret\n');
  srv.signal('SIGHUP');
  await waitFor('the new file', async () => (await login('eve')).status === 200);
  t.is((await login('ada')).status, 401);
  writeInto(srv.prefix, 'conf/users', 'eve:{PLAIN}secret\nada\n');
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[emerg\] .*a line of a file of users must be "name:hash" in \S+\/conf\/users:2$/m);
  t.is((await login('eve')).status, 200, 'the file in force stays');
});

test('a file whose path has variables is read when it changes, without a reload', async (t) => {
  const conf = ONE_SERVER.replace('auth_basic_user_file users', 'auth_basic_user_file $arg_f');
  const srv = await startSrv(t, conf, { files: { ...PAGE, 'conf/some': 'ada:{PLAIN}one\nbob:x\n' } });
  const port = srv.port('web');
  const status = async (password: string): Promise<number> =>
    (await get(port, '/?f=some', { headers: { authorization: basic(`ada:${password}`) } })).status;
  t.is(await status('one'), 200);
  t.is(await status('two'), 401);
  await srv.waitForLog(/\[error\] .*the hash of user "bob" has no supported form in \S+\/conf\/some:2, client: /);
  writeInto(srv.prefix, 'conf/some', 'ada:{PLAIN}two, longer\n');
  t.is(await status('two, longer'), 200);
  t.is(await status('one'), 401);
});

test('many clients with one wrong password, and one that leaves', async (t) => {
  const srv = await startSrv(t, ONE_SERVER, {
    files: { ...PAGE, 'conf/users': 'ada:$2y$10$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n' },
  });
  const port = srv.port('web');
  const headers = { authorization: basic('ada:wrong') };
  const gone = httpRequest({ host: '127.0.0.1', port, headers });
  gone.on('error', () => undefined);
  gone.end();
  const responses = await Promise.all(Array.from({ length: 100 }, () => get(port, '/', { headers })));
  gone.destroy();
  t.deepEqual(new Set(responses.map(({ status }) => status)), new Set([401]));
});

for (const [users, line, message] of [
  ['ada:{PLAIN}x\nbob', 2, 'a line of a file of users must be "name:hash"'],
  ['ada:secret', 1, 'the hash of user "ada" has no supported form'],
  ['# x\n\nada:$9$abc$def', 3, 'the hash of user "ada" has no supported form'],
  ['ada:{SHA}short', 1, 'the hash of user "ada" has no supported form'],
  ['ada:$2y$32$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW', 1, 'the hash of user "ada" has no supported form'],
] as const) {
  test(`rejected: ${JSON.stringify(users)}`, async (t) => {
    const { stderr } = await check(t, 'events {} http { auth_basic x; auth_basic_user_file u; server { } }', { 'conf/u': users });
    t.true(stderr.includes(`${message} in `) && stderr.includes(`/conf/u:${line}\n`), stderr);
  });
}

test('a file that is not there rejects the configuration', async (t) => {
  const { stderr } = await check(t, 'events {} http { server { auth_basic x; auth_basic_user_file nowhere; } }');
  t.regex(stderr, /open\(\) "\S+\/conf\/nowhere" failed \(2: No such file or directory\) in \S+\/srv\.conf:1/);
});
