import { connect } from 'node:http2';
import { once } from 'node:events';
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedScope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import {
  SECRET,
  SOLUTION,
  bytesOf,
  challenged,
  cookieOf,
  fieldsOf,
  hear,
  jsonChallenge,
  look,
  PAGE,
  perceive,
  post,
  solve,
  statusWith,
  work,
  workOf,
  type JsonChallenge,
} from './captcha-client.js';

const MODULE = 'load_module modules/srv_http_captcha_module.so;';
const ask = plugin('ask', {
  manifest: `directives: { ask: directive({ in: ['location'] }) }`,
  body: `compile(scope) {
    return scope.conf.ask ? { content: async (request) => request.send((await request.subrequest('/sub', { args: request.args })).status, 'ok') } : undefined;
  }`,
});

/** Every key is a test's own: `?k=`. */
const shared = sharedScope((scope) =>
  startSrv(
    scope,
    `${MODULE} load_module modules/ask.js;
    worker_processes 2;
    error_log logs/error.log info;
    events {}
    http {
      captcha_zone $arg_k zone=c:1m; captcha_zone $arg_k zone=Other/1:1m;
      captcha_secret '${SECRET}';
      log_format state '$uri $status $captcha_state';
      captcha on; captcha_limit_rate c 3;
      server {
        listen 127.0.0.1:%%PORT_web%%; http2 on; access_log logs/state.log state;
        location / { proxy_pass http://127.0.0.1:%%PORT_echo%%; }
        location /many { captcha_limit_rate c 20; stub_status; }
        location /image { captcha_mode image; stub_status; }
        location /pow { captcha_mode pow; stub_status; }
        location /short { captcha_expire 1s; stub_status; }
        location /other { captcha_limit_rate Other/1 3; stub_status; }
        location /off { captcha off; stub_status; }
        location /bypass { captcha_bypass $arg_b $http_x_good; stub_status; }
        location /ask { ask; }
        location /verified { captcha_limit_rate c 3 verified=10; stub_status; }
        location /sub { stub_status; }
        location /redirected { error_page 403 = /sub; deny all; }
        location /satisfied { satisfy any; allow all; deny all; stub_status; }
        location /internal { internal; stub_status; }
      }
      server { listen 127.0.0.1:%%PORT_echo%%; captcha off; location / { return 200 "$request_method $request_uri $content_type $request_body"; } }
    }`,
    { files: { 'modules/ask.js': ask } },
  ),
);

test('as many requests as the rate pass, further ones are challenged; every key has its own', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  for (const _ of [1, 2, 3]) t.is((await get(port, '/sub?k=a')).status, 200);
  const over = await get(port, '/sub?k=a');
  t.is(over.status, 429);
  t.is(over.headers['cache-control'], 'no-store');
  t.is(over.headers['content-type'], 'application/json');
  t.is((await get(port, '/sub?k=b')).status, 200);
  for (let n = 0; n < 6; n++) t.is((await get(port, '/sub')).status, 200, 'no key, no limit');
  for (let n = 0; n < 6; n++) t.is((await get(port, '/off?k=a')).status, 200);
  await srv.waitForLog(/\[info\] .*captcha: 4 requests in a second, challenged by zone "c", client: 127\.0\.0\.1/);
  await srv.waitForLog(/^\/sub 200 PASSED\n[^]*^\/sub 429 CHALLENGED$/m, 'logs/state.log');
  await waitFor('the next second', async () => (await get(port, '/sub?k=b')).status === 200);
});

test('many clients at once: the limit is exact over the workers', async (t) => {
  const port = (await shared()).port('web');
  const responses = await Promise.all(Array.from({ length: 60 }, () => get(port, '/many?k=many')));
  t.is(responses.filter(({ status }) => status === 200).length, 20);
});

test('a client that goes on above the rate gets nothing; one that waits a second goes on', async (t) => {
  const port = (await shared()).port('web');
  await challenged(port, '/sub?k=waits');
  for (let n = 0; n < 5; n++) t.is((await get(port, '/sub?k=waits')).status, 429);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  t.is((await get(port, '/sub?k=waits')).status, 200);
});

test('work: a solution gives a cookie, and is valid once', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  const challenge = await jsonChallenge(port, '/pow?k=work');
  t.is(challenge.picture, undefined);
  const right = await work(port, challenge);
  t.is(right.status, 200, right.body);
  t.deepEqual(JSON.parse(right.body), { result: 'right' });
  const { token, work: wanted } = await jsonChallenge(port, '/pow?k=form');
  const form = await post(port, SOLUTION, { token, work: solve(wanted!) }, PAGE);
  t.deepEqual([form.status, form.body.trim()], [200, '{"result":"right"}'], 'there is no page to lead back to');
  t.regex(right.headers['set-cookie']?.[0] ?? '', /^captcha_c=[\w.-]+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax$/);
  t.is(await statusWith(port, '/pow?k=work', cookieOf(right)), 200);
  const again = await work(port, challenge);
  t.is(again.status, 403);
  t.deepEqual(JSON.parse(again.body), { result: 'gone' });
  t.is(again.headers['set-cookie'], undefined);
  await srv.waitForLog(/^\/pow 200 VERIFIED$/m, 'logs/state.log');
  await srv.waitForLog(/^\/.srv\/captcha\/solution 200 SOLVED$/m, 'logs/state.log');
  await srv.waitForLog(/^\/.srv\/captcha\/solution 403 REJECTED$/m, 'logs/state.log');
});

test('one solution at many workers at once: one cookie', async (t) => {
  const port = (await shared()).port('web');
  const challenge = await jsonChallenge(port, '/pow?k=once');
  const solution = solve(challenge.work!);
  const solutions = await Promise.all(Array.from({ length: 12 }, () => post(port, SOLUTION, { token: challenge.token, work: solution })));
  t.is(solutions.filter(({ status }) => status === 200).length, 1);
});

test('cookies of another key, another zone, changed and expired ones are rejected', async (t) => {
  const port = (await shared()).port('web');
  const cookie = cookieOf(await work(port, await jsonChallenge(port, '/sub?k=mine')));
  t.is(await statusWith(port, '/sub?k=mine', cookie), 200);
  t.is(await statusWith(port, '/sub?k=theirs', cookie), 429);
  const [name = '', value = ''] = cookie.split('=');
  const [expires = '', means = '', random = '', signature = ''] = value.split('.');
  const later = (Number.parseInt(expires, 36) + 1).toString(36);
  const other = signature.replace(/^./, (character) => (character === 'A' ? 'B' : 'A'));
  const forgeries = [
    `${later}.${means}.${random}.${signature}`,
    `${expires}.r.${random}.${signature}`,
    `${expires}.${means}.${random.toUpperCase()}x.${signature}`,
    `${expires}.${means}.${random}.${other}`,
    `${expires}.${means}.${random}.`,
    'x',
    '',
  ];
  for (const forged of forgeries) t.is(await statusWith(port, '/sub?k=mine', `${name}=${forged}`), 429, forged);
  t.is(
    await statusWith(port, '/sub?k=mine', `${name}=x; ${name}=${forgeries[0]}; ${cookie}`),
    200,
    'other sites of the domain may set some',
  );
  t.is(await statusWith(port, '/other?k=mine', `captcha__4f_ther_2f_1=${value}`), 429);
  const short = cookieOf(await work(port, await jsonChallenge(port, '/short?k=short')));
  await waitFor('the end of the cookie', async () => (await statusWith(port, '/short?k=short', short)) === 429);
});

test('a cookie allows more requests, not any number; another solution as many again', async (t) => {
  const port = (await shared()).port('web');
  const passed = async (cookie: string): Promise<number> => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => get(port, '/verified?k=verified', { headers: { cookie } })));
    return responses.filter(({ status }) => status === 200).length;
  };
  const challenges = [await jsonChallenge(port, '/verified?k=verified'), await jsonChallenge(port, '/verified?k=verified')] as const;
  const [cookie, another] = [cookieOf(await work(port, challenges[0])), cookieOf(await work(port, challenges[1]))];
  const began = performance.now();
  /** Requests that pass besides: 3 a second need no cookie, and on a machine that needs a while for them the rate allows 10 a second. */
  const more = (): number => 3 + Math.ceil(((performance.now() - began) * 13) / 1000);
  const first = await passed(cookie);
  t.true(first >= 10 && first <= 10 + more(), String(first));
  const second = await passed(cookie);
  t.true(first + second <= 10 + more(), `it goes on above the rate: ${second}`);
  const other = await passed(another);
  t.true(other >= 10 && other <= 10 + more(), String(other));
});

test('work grows with the rate and with the work that was done; cheap challenges are not valid later', async (t) => {
  const port = (await shared()).port('web');
  const stored: JsonChallenge[] = [];
  while (stored.length < 8) stored.push(await jsonChallenge(port, '/many?k=stored'));
  t.is(stored[0]!.work!.difficulty, 4096);
  let last = JSON.parse('{}') as { result?: string; challenge?: JsonChallenge };
  for (const challenge of stored) last = JSON.parse((await work(port, challenge)).body) as typeof last;
  t.is(last.result, 'harder');
  // A minute that begins forgets half of the work.
  t.true(last.challenge!.work!.difficulty > (4 * 4096) / 2);
  t.is((await work(port, last.challenge!)).status, 200);
  const cheap = await jsonChallenge(port, '/sub?k=risen');
  const page = await challenged(port, '/sub?k=risen', { headers: PAGE });
  await Promise.all(Array.from({ length: 40 }, () => get(port, '/sub?k=risen')));
  t.true((await jsonChallenge(port, '/sub?k=risen')).work!.difficulty >= 10 * 4096);
  const solution = { ...fieldsOf(page.body), work: solve(workOf(page.body)) };
  const own = { token: cheap.token, work: solve(cheap.work!) };
  await Promise.all(Array.from({ length: 40 }, () => get(port, '/sub?k=risen')));
  const [harder, next] = await Promise.all([post(port, SOLUTION, own), post(port, SOLUTION, solution, PAGE)]);
  t.regex(harder.body, /"result":"harder"/);
  t.regex(next.body, /takes a little longer/);
  t.regex(next.body, /id="captcha-work"/);
  t.true(workOf(next.body).difficulty > 4 * 4096);
});

test('work is not enough where a picture is to be read; long keys are counted', async (t) => {
  const port = (await shared()).port('web');
  const worked = cookieOf(await work(port, await jsonChallenge(port, '/sub?k=means')));
  t.is(await statusWith(port, '/sub?k=means', worked), 200);
  t.is(await statusWith(port, '/image?k=means', worked), 429);
  const read = cookieOf(await look(port, await jsonChallenge(port, '/image?k=means')));
  t.is(await statusWith(port, '/image?k=means', read), 200);
  t.is(await statusWith(port, '/sub?k=means', read), 200);
  const heard = cookieOf(await hear(port, await jsonChallenge(port, '/sub?k=heard')));
  t.is(await statusWith(port, '/sub?k=heard', heard), 200);
  t.is(await statusWith(port, '/image?k=heard', heard), 429, 'sounds are worth as much as work');
  t.is((await jsonChallenge(port, '/image?k=heard')).sound, undefined);
  t.notRegex((await challenged(port, '/image?k=heard')).body, /data-worker|name="work"/);
  await challenged(port, `/sub?k=${'long'.repeat(1000)}`);
});

test('work that is not done, or done for another challenge, is a wrong solution', async (t) => {
  const port = (await shared()).port('web');
  const [one, other] = [await jsonChallenge(port, '/pow?k=done'), await jsonChallenge(port, '/pow?k=done')];
  for (const wrong of [solve(other.work!), Array(16).fill('1').join('.'), '1', 'x'.repeat(100)]) {
    const { status, body } = await post(port, SOLUTION, { token: one.token, work: wrong });
    t.is(status, 403, body);
    t.regex(body, /"result":"wrong"/);
  }
  const image = await jsonChallenge(port, '/image?k=done');
  t.is(image.work, undefined);
  t.regex((await post(port, SOLUTION, { token: image.token, work: solve(other.work!) })).body, /"result":"wrong"/);
});

test('five guesses, then not even the right solution helps', async (t) => {
  const port = (await shared()).port('web');
  const { token, picture = '' } = await jsonChallenge(port, '/image?k=guesses');
  const read = await perceive(port, picture);
  for (const left of [4, 3, 2, 1, 0]) {
    const { body } = await post(port, SOLUTION, { token, solution: 'AAAAAA' });
    t.deepEqual(JSON.parse(body), { result: 'wrong', guesses_left: left });
  }
  t.is((await post(port, SOLUTION, { token, solution: read })).status, 403);
});

test('the page: a solution leads back to the original URI with its query', async (t) => {
  const port = (await shared()).port('web');
  const path = '/image/../image?k=page&q=%22a+b%22&x=<y>';
  const page = await challenged(port, path, { headers: PAGE });
  t.is(page.headers['content-type'], 'text/html; charset=utf-8');
  t.is(page.headers['cache-control'], 'no-store');
  t.regex(page.headers['content-security-policy'] as string, /default-src 'none'/);
  t.notRegex(page.body, /<script(?! src)|<style|\son\w+=|style=|https?:/);
  t.notRegex(page.body, /id="captcha-work"/);
  const fields = fieldsOf(page.body);
  const wrong = await post(port, SOLUTION, { ...fields, solution: 'AAAAAA' }, PAGE);
  t.is(wrong.status, 403);
  t.regex(wrong.body, /role="alert"[^>]*>That was not right\. Please try again\./);
  t.deepEqual(fieldsOf(wrong.body), fields);
  const read = await perceive(port, /src="([^"]*picture[^"]*)"/.exec(page.body)![1]!);
  const right = await post(port, SOLUTION, { ...fields, solution: read }, PAGE);
  t.is(right.status, 303, right.body);
  t.is(right.headers.location, '/image/../image?k=page&q=%22a+b%22&x=%3Cy%3E');
  t.is(right.headers['cache-control'], 'no-store');
  t.is(await statusWith(port, '/image?k=page', cookieOf(right)), 200);
  const gone = await post(port, SOLUTION, { ...fields, solution: read }, PAGE);
  t.is(gone.status, 403);
  t.regex(gone.body, /expired, was solved already, or belongs to another page/);
});

test('after the fifth guess the page has a new challenge', async (t) => {
  const port = (await shared()).port('web');
  let page = await challenged(port, '/image?k=renewed', { headers: PAGE });
  const { token } = fieldsOf(page.body);
  for (let n = 0; n < 5; n++) page = await post(port, SOLUTION, { ...fieldsOf(page.body), solution: 'nothing' }, PAGE);
  t.regex(page.body, /Here is a new task/);
  t.not(fieldsOf(page.body)['token'], token);
  const solution = await perceive(port, /src="([^"]*picture[^"]*)"/.exec(page.body)![1]!);
  t.is((await post(port, SOLUTION, { ...fieldsOf(page.body), solution }, PAGE)).status, 303);
});

test('no solution leads to another site, and none to another page', async (t) => {
  const port = (await shared()).port('web');
  for (const [path, back] of [
    ['//evil.example/a?k=back', '/.//evil.example/a?k=back'],
    ['/\\evil.example/?k=back', '/%5Cevil.example/?k=back'],
    ['/a"onclick=alert(1)?k=back', '/a%22onclick=alert(1)?k=back'],
  ] as const) {
    const page = await challenged(port, path, { headers: PAGE });
    const solution = { ...fieldsOf(page.body), work: solve(workOf(page.body)) };
    t.is((await post(port, SOLUTION, { ...solution, uri: '//evil.example/' }, PAGE)).status, 403);
    const form = { enctype: 'application/x-www-form-urlencoded', form: 'to=mallory' };
    t.is((await post(port, SOLUTION, { ...solution, ...form }, PAGE)).status, 403);
    t.is((await post(port, SOLUTION, solution, PAGE)).headers.location, back, path);
  }
});

test('a form is kept and sent again', async (t) => {
  const port = (await shared()).port('web');
  const form = 'name=Ada+L.&text=a%0D%0Ab+%3C%26%22%27%3E&text=%E4%BD%A0&empty=';
  const headers = { ...PAGE, 'content-type': 'application/x-www-form-urlencoded' };
  const page = await challenged(port, '/save?k=form', { method: 'POST', body: form, headers });
  t.regex(page.body, /Your form is kept/);
  const resend = await post(port, SOLUTION, { ...fieldsOf(page.body), work: solve(workOf(page.body)) }, PAGE);
  t.is(resend.status, 200);
  t.regex(resend.body, /<form id="captcha-resend" method="post" action="\/save\?k=form"/);
  const inputs = [...resend.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [name, value]);
  t.deepEqual(inputs, [
    ['name', 'Ada L.'],
    ['text', 'a&#13;&#10;b &lt;&amp;&quot;&#39;&gt;'],
    ['text', '你'],
    ['empty', ''],
  ]);
  t.not(cookieOf(resend), '');
  const large = await challenged(port, '/save?k=form', { method: 'POST', body: `a=${'x'.repeat(65_536)}`, headers });
  t.regex(large.body, /cannot be kept/);
  t.is(fieldsOf(large.body)['form'], undefined);
});

/** The page that sends a form again, and its fields, after a challenge of this form. */
async function resent(port: number, key: string, type: string, body: string) {
  const headers = { ...PAGE, 'content-type': type };
  const page = await challenged(port, `/many/save?k=${key}`, { method: 'POST', body, headers });
  const solved = await post(port, SOLUTION, { ...fieldsOf(page.body), work: solve(workOf(page.body)) }, PAGE);
  return { page: page.body, solved, fields: fieldsOf(solved.body) };
}

/** A part of a body with `multipart/form-data`. */
const part = (disposition: string, content: string): string =>
  `--x y\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;

test('forms of all encodings are kept; files are chosen again', async (t) => {
  const port = (await shared()).port('web');
  const texts = part('name="a"', 'one\r\ntwo') + part('name="b%22"', '你') + part('name="none"; filename=""', '');
  const type = 'multipart/form-data; boundary="x y"';
  const { solved, fields, page } = await resent(port, 'multipart', type, `${texts}--x y--\r\n`);
  t.regex(page, /Your form is kept/);
  t.notRegex(page, /Files are not kept/);
  t.regex(solved.body, /action="\/many\/save\?k=multipart" enctype="multipart\/form-data"/);
  t.deepEqual(fields, { a: 'one\r\ntwo', 'b"': '你' });
  t.regex(solved.body, /<input type="file" id="captcha-file-0" name="none" hidden>/);
  const file = part('name="f"; filename="<1>.txt"\r\nContent-Type: text/plain', 'content');
  const upload = await resent(port, 'upload', type, `${texts}${file}--x y--`);
  t.regex(upload.page, /Files are not kept/);
  t.deepEqual(upload.fields, fields);
  t.regex(upload.solved.body, /<label for="captcha-file-1">&lt;1&gt;\.txt<\/label><input type="file" id="captcha-file-1" name="f">/);
  const plain = await resent(port, 'plain', 'text/plain', 'a=1=2\r\nb=\r\n');
  t.regex(plain.solved.body, /enctype="text\/plain"/);
  t.deepEqual(plain.fields, { a: '1=2', b: '' });
  const empty = await resent(port, 'empty', 'application/x-www-form-urlencoded', '');
  t.regex(empty.solved.body, /<form id="captcha-resend" method="post"/);
  const most = await resent(port, 'most', type, `${part('name="a"', '你'.repeat(21_700))}--x y--`);
  t.is(most.fields['a']?.length, 21_700);
});

test('forms that cannot be kept: the page says so', async (t) => {
  const port = (await shared()).port('web');
  let lost = 0;
  const open = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n';
  for (const [type, body] of [
    ['multipart/form-data; boundary=x', '--x\r\n--x--'],
    ['multipart/form-data; boundary=x', open],
    ['multipart/form-data; boundary=x', `${open}${'x'.repeat(65_536)}\r\n--x--`],
    ['multipart/form-data', '--x--'],
    ['application/x-www-form-urlencoded', 'a=%ff'],
    ['text/plain', 'a=1\r\n2\r\n'],
    ['application/json', '{}'],
  ] as const) {
    const { page, solved } = await resent(port, `lost${lost++}`, type, body);
    t.regex(page, /cannot be kept/, `${type} ${body.slice(0, 100)}`);
    t.is(solved.status, 303);
  }
});

test('a form that is too large: the page says so before anything else, and again after a wrong solution', async (t) => {
  const port = (await shared()).port('web');
  const path = '/image?k=large';
  const body = `text=${'x'.repeat(65_536)}`;
  const headers = { ...PAGE, 'content-type': 'application/x-www-form-urlencoded' };
  const { body: page } = await challenged(port, path, { method: 'POST', body, headers });
  const lost = /larger than 64 KB.*go back to your form/;
  t.regex(page.slice(0, page.indexOf('<form')), lost);
  const { body: again } = await post(port, SOLUTION, { ...fieldsOf(page), solution: 'wrong' }, PAGE);
  t.regex(again, /not right/);
  t.regex(again.slice(0, again.indexOf('<form')), lost);
});

test('a form post that got JSON: its token is solved by a form and by JSON', async (t) => {
  const port = (await shared()).port('web');
  for (const type of ['application/x-www-form-urlencoded', 'application/json']) {
    const path = `/?k=posted-${type.length}`;
    const form = { method: 'POST', body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    const { challenge } = JSON.parse((await challenged(port, path, form)).body) as { challenge: JsonChallenge };
    const fields = { token: challenge.token, work: solve(challenge.work!) };
    const solved =
      type === 'application/json'
        ? await get(port, SOLUTION, { method: 'POST', body: JSON.stringify(fields), headers: { 'content-type': type } })
        : await post(port, SOLUTION, fields);
    t.is(solved.status, 200, solved.body);
    t.deepEqual(JSON.parse(solved.body), { result: 'right' });
    const passed = await get(port, path, { ...form, headers: { ...form.headers, cookie: cookieOf(solved) } });
    t.is(passed.status, 200);
    t.regex(passed.body, /^POST /);
  }
});

test('solutions from other sites are rejected: no other site sends forms for a client', async (t) => {
  const port = (await shared()).port('web');
  const headers = { ...PAGE, 'content-type': 'application/x-www-form-urlencoded' };
  const page = await challenged(port, '/save?k=foreign', { method: 'POST', body: 'to=mallory', headers });
  const solution = { ...fieldsOf(page.body), work: solve(workOf(page.body)) };
  for (const foreign of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ])
    t.is((await post(port, SOLUTION, solution, { ...PAGE, ...foreign })).status, 403, JSON.stringify(foreign));
  t.is((await post(port, SOLUTION, solution, { ...PAGE, origin: `http://127.0.0.1:${port}` })).status, 200);
});

test('HEAD, ranges and HTTP/2', async (t) => {
  const port = (await shared()).port('web');
  await challenged(port, '/sub?k=head');
  const head = await get(port, '/sub?k=head', { method: 'HEAD', headers: PAGE });
  t.is(head.status, 429);
  t.is(head.headers['cache-control'], 'no-store');
  t.is(head.body, '');
  t.is((await get(port, '/sub?k=head', { headers: { ...PAGE, range: 'bytes=0-9' } })).status, 429);
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':path': '/sub?k=head', accept: 'text/html' });
  const [fields] = (await once(stream, 'response')) as [Record<string, unknown>];
  t.is(fields[':status'], 429);
  stream.setEncoding('utf8');
  let body = '';
  for await (const piece of stream) body += String(piece);
  session.close();
  t.regex(body, /id="captcha"/);
});

test('subrequests, internal redirects and satisfy', async (t) => {
  const port = (await shared()).port('web');
  const statuses = async (path: string): Promise<string> => {
    const all: number[] = [];
    while (all.length < 5) all.push((await get(port, path)).status);
    return all.join(' ');
  };
  t.is(await statuses('/ask?k=sub'), '200 200 200 429 429', 'a request is counted once, its subrequests included');
  t.is(await statuses('/redirected?k=redirected'), '200 200 200 429 429');
  t.is(await statuses('/satisfied?k=satisfied'), '200 200 200 429 429');
  t.is(await statuses('/internal?k=internal'), '404 404 404 404 404');
});

test('captcha_bypass', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  for (let n = 0; n < 6; n++) t.is((await get(port, '/bypass?k=bypass&b=1')).status, 200);
  for (let n = 0; n < 6; n++) t.is((await get(port, '/bypass?k=bypass&b=0', { headers: { 'x-good': 'yes' } })).status, 200);
  await challenged(port, '/bypass?k=bypass&b=0');
  await srv.waitForLog(/^\/bypass 200 BYPASSED$/m, 'logs/state.log');
});

test('the language is that of Accept-Language', async (t) => {
  const port = (await shared()).port('web');
  const lang = async (accepted: string): Promise<string> => {
    const { body } = await challenged(port, '/image?k=lang', { headers: { ...PAGE, 'accept-language': accepted } });
    return /<html lang="([^"]+)">/.exec(body)![1]!;
  };
  t.is(await lang('zh-CN,zh;q=0.9,en;q=0.8'), 'zh');
  t.is(await lang('de, en;q=0.5, zh;q=0.4'), 'en');
  t.is(await lang('en;q=0, zh;q=0.1'), 'zh');
  t.is(await lang('"><script>'), 'en');
});

test('files of the page, pictures and sounds', async (t) => {
  const port = (await shared()).port('web');
  const script = await get(port, '/.srv/captcha/page.js');
  t.is(script.headers['content-type'], 'text/javascript; charset=utf-8');
  t.is((await get(port, '/.srv/captcha/page.js', { headers: { 'if-none-match': script.headers.etag } })).status, 304);
  t.is((await get(port, '/.srv/captcha/page.js', { method: 'POST' })).status, 405);
  t.is((await get(port, SOLUTION)).status, 405);
  t.is((await get(port, '/.srv/captcha/other')).status, 404);
  t.is((await post(port, SOLUTION, {})).status, 403);
  t.is((await get(port, SOLUTION, { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } })).status, 400);
  const { picture = '', sound = '' } = await jsonChallenge(port, '/sub?k=files');
  const png = await bytesOf(port, picture);
  t.is(png.toString('latin1', 1, 4), 'PNG');
  t.deepEqual(await bytesOf(port, picture), png, 'one picture of a challenge');
  const part = await get(port, sound, { headers: { range: 'bytes=0-3' } });
  t.is(part.status, 206);
  t.is(part.body, 'RIFF');
  const statuses: number[] = [];
  while (statuses.length < 5) statuses.push((await get(port, picture)).status);
  t.deepEqual(statuses, [200, 200, 200, 404, 404], 'each challenge is shown six times');
});
