import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';

/** Lines of a location, and Set-Cookie of the member with what becomes of it. */
const CASES: readonly (readonly [lines: string, cookies: Readonly<Record<string, string>>])[] = [
  [
    'proxy_cookie_domain localhost example.org; proxy_cookie_domain localhost never;',
    {
      'a=b; domain=localhost': 'a=b; domain=example.org',
      'a=b; Domain=LOCALHOST; path=/': 'a=b; Domain=example.org; path=/',
      'a=b;domain=.localhost': 'a=b; domain=.example.org',
      'a=b; domain = localhost ;Secure': 'a=b; domain=example.org; Secure',
      'a=b; domain=localhost; domain=localhost': 'a=b; domain=example.org; domain=example.org',
      'a=b;domain=xlocalhost ; Secure': 'a=b;domain=xlocalhost ; Secure',
      'domain=localhost': 'domain=localhost',
      'a=b; domain': 'a=b; domain',
      'a=b;; domain=localhost': 'a=b; ; domain=example.org',
    },
  ],
  [
    String.raw`proxy_cookie_domain ~\.?([a-z]+\.org)$ new.$1; proxy_cookie_domain $back $front; proxy_cookie_domain .dot.example .new.example; proxy_cookie_domain gone "";`,
    {
      'a=b; domain=.X.org': 'a=b; domain=new.X.org',
      'a=b; domain=back.example': 'a=b; domain=front.example',
      'a=b; domain=.Dot.example': 'a=b; domain=.new.example',
      'a=b; domain=dot.example': 'a=b; domain=new.example',
      'a=b; domain=gone; path=/': 'a=b; domain=; path=/',
    },
  ],
  [
    'proxy_cookie_path ~^/u/([^/]+)/ /v/$1/; proxy_cookie_path ~*^/CASE "/ci$uri"; proxy_cookie_path /two/ /;',
    {
      'a=b; path=/two/some/uri/': 'a=b; path=/some/uri/',
      'a=b; Path=/two/': 'a=b; Path=/',
      'a=b; path=/TWO/': 'a=b; path=/TWO/',
      'a=b; path=/u/me/x; HttpOnly': 'a=b; path=/v/me/; HttpOnly',
      'a=b; path=/case/x': 'a=b; path=/ci/2',
      'a=b; path=': 'a=b; path=',
      'path=/two/; path=/two/': 'path=/two/; path=/',
    },
  ],
  ['proxy_cookie_path / "/; HttpOnly";', { 'a=b; path=/': 'a=b; path=/; HttpOnly' }],
  [
    'proxy_cookie_flags one httponly; proxy_cookie_flags ~two secure samesite=strict; proxy_cookie_flags ~ nosamesite;',
    {
      'One=1': 'One=1; HttpOnly',
      'one=1; httponly': 'one=1; httponly',
      'aTWO=2; Secure': 'aTWO=2; Secure; SameSite=Strict',
      'two=2; samesite=lax; path=/': 'two=2; SameSite=Strict; path=/; Secure',
      'three=3; SameSite=Lax;HttpOnly': 'three=3; HttpOnly',
      'x;SameSite=Lax': 'x;SameSite=Lax',
      'x=1; SameSite': 'x=1',
    },
  ],
  [
    'proxy_cookie_flags ~ nosecure nohttponly nosamesite;',
    { 'x=1; secure; HTTPONLY; samesite=none; path=/': 'x=1; path=/', 'x=1; Secure=1; Secure': 'x=1' },
  ],
  [
    'proxy_cookie_flags $arg_none secure; proxy_cookie_flags ~ secure httponly samesite=$same;',
    {
      '=x': '=x; Secure',
      'x=1': 'x=1; Secure; HttpOnly; SameSite=Lax',
      'x=1; samesite=lax; Secure=1': 'x=1; samesite=lax; Secure=1; HttpOnly',
      'x=1; SameSite': 'x=1; SameSite=Lax; Secure; HttpOnly',
      'x="a;b"; secure': 'x="a; b"; secure; HttpOnly; SameSite=Lax',
    },
  ],
  [
    'proxy_cookie_flags ~ secure; proxy_cookie_path / /x/; proxy_cookie_domain localhost example.org;',
    {
      'a=b; path=/; domain=localhost': 'a=b; path=/x/; domain=example.org; Secure',
      'a=b, c=d; path=/': 'a=b, c=d; path=/x/; Secure',
    },
  ],
  ['proxy_cookie_path off;', { 'o=b; path=/in/': 'o=b; path=/in/; Secure' }],
  ['', { 'o=b; path=/in/': 'o=b; path=/out/; Secure' }],
  ['proxy_cookie_path off; proxy_cookie_flags off;', { 'o=b; path=/in/': 'o=b; path=/in/' }],
];

sameAsNginx(
  'proxy_cookie_domain, proxy_cookie_path, proxy_cookie_flags',
  async (t, port) => {
    const backend = await httpBackend(t, ({ headers }, response) =>
      response.writeHead(200, { 'set-cookie': [String(headers['x-cookie']), 'other=1'] }).end(),
    );
    const locations = CASES.map(([lines], at) => `location /${at} { ${lines} proxy_pass http://127.0.0.1:${backend.port}; }`);
    return `server { listen 127.0.0.1:${port}; set $back back.example; set $front front.example; set $same lax;
      proxy_cookie_path /in/ /out/; proxy_cookie_flags o secure; ${locations.join(' ')} }`;
  },
  async (t, port) => {
    for (const [at, [lines, cookies]] of CASES.entries())
      for (const [cookie, expected] of Object.entries(cookies)) {
        const { headers } = await get(port, `/${at}`, { headers: { 'x-cookie': cookie } });
        t.is(headers['set-cookie']?.[0], expected, `${lines} ${cookie}`);
        t.is(headers['set-cookie']?.length, 2);
      }
  },
);

test('wrong lines are rejected', async (t) => {
  const errorOf = async (lines: string): Promise<string> =>
    /\[emerg\] (.*) in /.exec((await check(t, `events {} http { server { listen 127.0.0.1:%%PORT_web%%; ${lines} } }`)).stderr)?.[1] ?? '';
  t.is(await errorOf('proxy_cookie_domain a;'), 'invalid parameter "a"');
  t.is(await errorOf('proxy_cookie_flags x;'), 'invalid parameter "x"');
  t.is(await errorOf('proxy_cookie_path off; proxy_cookie_path a b;'), '"proxy_cookie_path" directive is duplicate');
  t.is(await errorOf('proxy_cookie_flags a secure; proxy_cookie_flags off;'), '"proxy_cookie_flags" directive is duplicate');
  t.is(await errorOf('proxy_cookie_domain off off; proxy_cookie_path "" b; proxy_cookie_flags off secure;'), '');
});
