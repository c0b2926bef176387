/** `userid` (ngx_http_userid_module): cookies and variables have the forms of nginx. */
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get, type HttpResponse } from '../harness/client.js';
import { nginxVerdict, startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';

const conf = (port: number): string => `map $arg_mapped $uid_reset { default ""; 1 1; } server {
  listen 127.0.0.1:${port};
  location = /on { userid on; return 200 "[$uid_got] [$uid_set]"; }
  location = /plain { userid on; return 204; }
  location = /v1 { userid v1; userid_name id; userid_domain .a.org; userid_path /x; userid_expires 365d; userid_service 7; return 200 "[$uid_got] [$uid_set]"; }
  location = /max { userid on; userid_expires max; userid_p3p 'x="y"'; userid_flags secure httponly samesite=lax; return 200 "[$uid_got] [$uid_set]"; }
  location = /mark { userid on; userid_mark Z; return 200 "[$uid_got] [$uid_set]"; }
  location = /log { userid log; return 200 "[$uid_got] [$uid_set]"; }
  location = /service { userid on; userid_service 4000000000; return 200 "[$uid_got] [$uid_set]"; }
  location = /reset { userid on; set $uid_reset $arg_r; return 200 "[$uid_got] [$uid_set]"; }
  location = /mapped { userid on; return 200 "[$uid_got] [$uid_set]"; }
  location = /off { return 200 "[$uid_got] [$uid_set]"; }
  location = /unset { return 200 "[$uid_reset]"; }
  location /outer { userid on; location /outer/missing { root nowhere; } location /outer/off { userid off; return 204; } }
}`;

/** An identifier as it is in a cookie, and as it is shown. */
const COOKIE = 'fwAAAWsBQkJOEAR6AwMEAg==';
const SHOWN = 'uid=0100007F4242016B7A04104E02040303';
const NEW = /^uid=([A-Za-z0-9+/]{22}==); path=\/$/;

const shown = (cookie: string): string => {
  const bytes = Buffer.from(cookie, 'base64');
  return [0, 4, 8, 12]
    .map((at) => bytes.readUInt32LE(at).toString(16).padStart(8, '0'))
    .join('')
    .toUpperCase();
};

function cookieOf({ headers }: HttpResponse): string | undefined {
  return headers['set-cookie']?.[0];
}

async function assertSite(t: ExecutionContext, port: number): Promise<void> {
  const ask = (path: string, cookie = ''): Promise<HttpResponse> => get(port, path, { headers: cookie === '' ? {} : { cookie } });

  const first = await ask('/on');
  const [, value = ''] = NEW.exec(cookieOf(first) ?? '') ?? [];
  t.is(first.body, `[] [uid=${shown(value)}]`);
  t.is(Buffer.from(value, 'base64').subarray(0, 4).join('.'), '127.0.0.1');
  t.regex(cookieOf(await ask('/plain')) ?? '', NEW, 'also without its variables');
  t.not(cookieOf(await ask('/on')), cookieOf(first), 'another client');

  const again = await ask('/on', `a=b; uid=${COOKIE}`);
  t.deepEqual([again.body, cookieOf(again)], [`[${SHOWN}] []`, undefined]);
  for (const cookie of ['uid=short', 'uid=!wAAAWsBQkJOEAR6AwMEAg==', 'other=x'])
    t.regex(cookieOf(await ask('/on', cookie)) ?? '', NEW, cookie);

  const old = await ask('/v1');
  const [, oldValue = ''] =
    /^id=([A-Za-z0-9+/]{22}==); expires=\w{3}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT; domain=\.a\.org; path=\/x$/.exec(cookieOf(old) ?? '') ??
    [];
  t.is(old.body, `[] [id=${shown(oldValue)}]`);
  t.regex(shown(oldValue), /^00000007/);

  const max = await ask('/max');
  t.regex(cookieOf(max) ?? '', /^uid=\S{24}; expires=Thu, 31-Dec-37 23:55:55 GMT; path=\/; secure; httponly; samesite=lax$/);
  t.is(max.headers['p3p'], 'x="y"');
  t.is(Buffer.from(/uid=(\S{24})/.exec(cookieOf(await ask('/service')) ?? '')?.[1] ?? '', 'base64').readUInt32BE(0), 4_000_000_000);

  const marked = await ask('/mark', `uid=${COOKIE}`);
  t.deepEqual([marked.body, cookieOf(marked)], [`[${SHOWN}] [${SHOWN}]`, `uid=${COOKIE.slice(0, 22)}Z=; path=/`]);
  t.is(cookieOf(await ask('/mark', `uid=${COOKIE.slice(0, 22)}Z=`)), undefined);
  t.truthy(cookieOf(await ask('/mark', `uid=${COOKIE.slice(0, 22)}ZZ`)));
  t.regex(cookieOf(await ask('/mark')) ?? '', /^uid=\S{22}Z=; path=\/$/);

  t.is((await ask('/log', `uid=${COOKIE}`)).body, `[${SHOWN}] []`);
  t.is(cookieOf(await ask('/log')), undefined);
  t.is((await ask('/unset')).body, '[]');
  t.is((await ask('/off', `uid=${COOKIE}`)).body, '[] []');
  for (const [reset, isNew] of [
    ['1', true],
    ['log', true],
    ['0', false],
    ['', false],
  ] as const)
    t.is(cookieOf(await ask(`/reset?r=${reset}`, `uid=${COOKIE}`)) !== undefined, isNew, reset);
  t.is(cookieOf(await ask('/mapped', `uid=${COOKIE}`)), undefined);
  t.truthy(cookieOf(await ask('/mapped?mapped=1', `uid=${COOKIE}`)), 'a map may say it as well');
  t.regex(cookieOf(await ask('/outer/missing')) ?? '', NEW, 'with an error as well');
  t.is(cookieOf(await ask('/outer/off')), undefined);
  t.regex(cookieOf(await ask('/outer/missing', `uid=${'A'.repeat(22)}==`)) ?? '', NEW, 'zeros identify no client');
}

test('cookies identify clients', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(t, `error_log logs/error.log notice; events {} http { ${conf(port)} }`);
  await assertSite(t, port);
  await srv.waitForLog(/\[error\] .*client sent too short userid cookie "uid=short", client: /);
  await srv.waitForLog(new RegExp(`\\[notice\\] .*userid cookie "${SHOWN}" was reset, client: `));
});

testWith('nginx')('nginx has the same forms', async (t) => {
  const port = await freePort(t);
  await startNginx(t, conf(port));
  await assertSite(t, port);
});

testWith('nginx')('nginx says the same of wrong values', async (t) => {
  for (const line of ['userid x;', 'userid_expires x;', 'userid_mark ab;', 'userid_mark -;', 'userid_service x;', 'userid_flags x;']) {
    const verdict = nginxVerdict(t, line);
    t.not(verdict, '', line);
    const { stderr } = await check(t, `events {} http { ${line} server { } }`);
    t.true(stderr.includes(verdict), `${line}\n${verdict}\n${stderr}`);
  }
});
