/** Servers of `captcha` with settings of their own: secrets, templates, small zones, rejected configurations. */
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { shared as sharedScope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import {
  challenged,
  cookieOf,
  hear,
  jsonChallenge,
  PAGE,
  post,
  SECRET,
  solve,
  SOLUTION,
  statusWith,
  work,
  type JsonChallenge,
} from './captcha-client.js';

const MODULE = 'load_module modules/srv_http_captcha_module.so;';

/** A server of its own. */
const own = (http: string, location = ''): string => `${MODULE} worker_processes 2; events {}
  http { captcha_zone $arg_k zone=c:1m; ${http}
    server { listen 127.0.0.1:%%PORT_web%%; captcha on; captcha_limit_rate c 1; location / { ${location} stub_status; } } }`;

const { key, cert } = selfSigned('localhost');

const small = sharedScope((scope) =>
  startSrv(
    scope,
    own(`captcha_session_zone sessions 32k; captcha_secret '${SECRET}';
    server { listen 127.0.0.1:%%PORT_silent%%; captcha on; captcha_limit_rate c 1; captcha_sound off; location / { stub_status; } }
    server { listen 127.0.0.1:%%PORT_loud%%; captcha on; captcha_limit_rate c 1; captcha_sound on; captcha_mode image; location / { stub_status; } }
    server { listen 127.0.0.1:%%PORT_tls%% ssl; http2 on; ssl_certificate a.pem; ssl_certificate_key a.key; captcha on; captcha_limit_rate c 1; location / { stub_status; } }`),
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  ),
);

async function reload(srv: Srv, conf: string): Promise<void> {
  const count = (): number => srv.log().split('reconfigured').length;
  const before = count();
  await srv.configure(conf);
  srv.signal('SIGHUP');
  await waitFor('the reload', () => count() > before);
}

test('secrets rotate; a template and texts of files', async (t) => {
  const log = 'error_log logs/error.log notice;';
  const files = {
    'conf/secrets': '# in use, former\nnew secret 0123456789\nold secret 0123456789\n',
    'conf/page.html': '<html lang="{{lang}}"><h1>My shop: {{ title }}</h1>{{challenge}}</html>',
    'conf/texts.json': '{"de":{"title":"Sind Sie ein Mensch?"},"en":{"title":"Hello"}}',
  };
  const srv = await startSrv(t, log + own("captcha_secret 'old secret 0123456789';"), { files });
  const port = srv.port('web');
  const cookie = cookieOf(await work(port, await jsonChallenge(port, '/?k=a')));
  t.is(await statusWith(port, '/?k=a', cookie), 200);
  await reload(srv, log + own('captcha_secret file=secrets; captcha_redirect_uri_file page.html; captcha_text_file texts.json;'));
  t.is(await statusWith(port, '/?k=a', cookie), 200);
  const page = await challenged(port, '/?k=a', { headers: { ...PAGE, 'accept-language': 'de-DE' } });
  t.regex(page.body, /<html lang="de"><h1>My shop: Sind Sie ein Mensch\?<\/h1>/);
  t.is(page.headers['content-security-policy'], undefined);
  await reload(srv, log + own("captcha_secret 'new secret 0123456789';"));
  t.is(await statusWith(port, '/?k=a', cookie), 429);
});

test('a client that guesses waits, and those of other keys do not; who works goes on', async (t) => {
  const port = (await small()).port('web');
  const [early, late] = [await jsonChallenge(port, '/?k=one'), await jsonChallenge(port, '/?k=other')];
  const results = new Map<string, number>();
  // A minute that begins meanwhile allows 20 more.
  for (let n = 0; n < 60 && !results.has('wait'); n++) {
    const { token } = await jsonChallenge(port, '/?k=one');
    const { result } = JSON.parse((await post(port, SOLUTION, { token, solution: '111111' })).body) as { result: string };
    results.set(result, (results.get(result) ?? 0) + 1);
  }
  t.true(results.has('wait') && (results.get('wrong') ?? 0) >= 20, JSON.stringify([...results]));
  // Work has become harder meanwhile, until the rate is low again.
  await waitFor('work to be enough', async () => (await work(port, early)).status === 200);
  t.is((await hear(port, late)).status, 200);
});

test('a full session zone drops what was used longest ago, and stays usable', async (t) => {
  const port = (await small()).port('web');
  const solved = await jsonChallenge(port, '/?k=solved');
  t.is((await work(port, solved)).status, 200);
  for (let n = 0; n < 150; n++) await post(port, SOLUTION, { token: (await jsonChallenge(port, `/?k=other${n}`)).token, work: '1' });
  t.is((await work(port, solved)).status, 403, 'a solution is valid once, also when it is not known any more');
  const last = await jsonChallenge(port, '/?k=last');
  t.is((await work(port, last)).status, 200);
  t.is((await work(port, last)).status, 403);
});

test('HTTP/2 over TLS: challenge, solution, a cookie for TLS alone', async (t) => {
  const session = connect(`https://127.0.0.1:${(await small()).port('tls')}`, { rejectUnauthorized: false });
  t.teardown(() => session.destroy());
  const send = async (fields: Record<string, string>, body = ''): Promise<{ head: IncomingHttpHeaders; body: string }> => {
    const stream = session.request(fields, { endStream: false });
    stream.setEncoding('utf8').end(body);
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    let text = '';
    for await (const piece of stream) text += String(piece);
    return { head, body: text };
  };
  const path = '/?k=tls';
  await send({ ':path': path });
  const over = await send({ ':path': path });
  t.is(String(over.head[':status']), '429');
  const { challenge } = JSON.parse(over.body) as { challenge: JsonChallenge };
  const solution = JSON.stringify({ token: challenge.token, work: solve(challenge.work!) });
  const right = await send({ ':method': 'POST', ':path': SOLUTION, 'content-type': 'application/json' }, solution);
  t.is(right.body.trim(), '{"result":"right"}');
  const [set = ''] = right.head['set-cookie'] ?? [];
  t.regex(set, /; HttpOnly; SameSite=Lax; Secure$/);
  const cookie = set.split(';')[0]!;
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await send({ ':path': path, cookie })).head[':status']));
  t.deepEqual(statuses.map(String), ['200', '200', '200', '200', '200']);
});

test('captcha_sound on: sounds are worth as much as a picture', async (t) => {
  const port = (await small()).port('loud');
  const cookie = cookieOf(await hear(port, await jsonChallenge(port, '/?k=loud')));
  t.is(await statusWith(port, '/?k=loud', cookie), 200);
});

test('captcha_sound off: pictures alone', async (t) => {
  const port = (await small()).port('silent');
  const challenge = await jsonChallenge(port, '/?k=silent');
  t.is(challenge.sound, undefined);
  t.is((await get(port, challenge.picture!.replace('picture', 'sound'))).status, 404);
  t.notRegex((await challenged(port, '/?k=silent', { headers: PAGE })).body, /audio|sound/);
});

const ERRORS = [
  ['', 'captcha_limit_rate c 1; captcha_expire 0; captcha on;', 'a second at least: 1s'],
  ['', 'captcha_limit_rate none 1; captcha on;', 'zero size shared memory zone "none"'],
  ['', 'captcha on;', '"captcha" needs "captcha_limit_rate"'],
  ["captcha_secret 'short';", 'captcha on; captcha_limit_rate c 1;', 'the secret is too short'],
  [
    "captcha_secret 'long enough 0123456789' file=x;",
    'captcha on; captcha_limit_rate c 1;',
    '"captcha_secret" needs one or two secrets, or "file="',
  ],
  ['captcha_secret file=short;', 'captcha on; captcha_limit_rate c 1;', 'the secret is too short'],
  ['captcha_redirect_uri_file empty.html;', 'captcha on; captcha_limit_rate c 1;', 'a template has "{{challenge}}" once'],
  ['captcha_redirect_uri_file unknown.html;', 'captcha on; captcha_limit_rate c 1;', 'unknown part "{{nonsense}}"'],
  ['captcha_text_file unknown.json;', 'captcha on; captcha_limit_rate c 1;', 'unknown text "nonsense" of "en"'],
  ['captcha_session_zone c 1m;', '', 'the shared memory zone "c" is already declared for a different use'],
  ['captcha_session_zone s 1k;', '', 'must be equal to or greater than 32k'],
] as const;

test('rejected configurations', async (t) => {
  const files = {
    'conf/short': 'x\n',
    'conf/empty.html': '<html></html>',
    'conf/unknown.html': '{{challenge}}\n{{nonsense}}',
    'conf/unknown.json': '{"en":{"nonsense":""}}',
  };
  for (const [http, location, error] of ERRORS) {
    const conf = `${MODULE} events {} http { captcha_zone $arg_k zone=c:1m; ${http} server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} } } }`;
    const run = await check(t, conf, files);
    t.is(run.code, 1, conf);
    t.true(run.stderr.includes(error), `${error}: ${run.stderr}`);
  }
});
