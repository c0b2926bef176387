/** `valid_referers` (ngx_http_referer_module): each value is the one of nginx. */
import type { ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { nginxVerdict } from '../harness/nginx.js';
import { testWith } from '../harness/programs.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';

/** Arguments of `valid_referers`, and referers with whether they are valid; undefined: there is none. */
const CASES: readonly (readonly [string, readonly (readonly [string | undefined, boolean])[]])[] = [
  [
    'none a.org',
    [
      [undefined, true],
      ['', false],
      ['http://b.org', false],
      ['blocked', false],
      ['http://a.org', true],
    ],
  ],
  [
    'blocked a.org',
    [
      [undefined, false],
      ['', true],
      ['hidden', true],
      ['ftp://a.org/', true],
      ['http://', true],
      ['http:///x', true],
      ['http://b.org/', false],
    ],
  ],
  [
    'a.org *.b.org c.* .d.org www.e.org/path/',
    [
      ['http://a.org', true],
      ['https://a.org/', true],
      ['HTTP://A.ORG/x', true],
      ['http://a.org:8080/x', true],
      ['http://a.org:8080', true],
      ['//a.org/', false],
      ['http://x.a.org/', false],
      ['http://b.org/', false],
      ['http://x.b.org/', true],
      ['http://y.x.b.org/', true],
      ['http://c.net/', true],
      ['http://c.x.net/', true],
      ['http://c/', false],
      ['http:///x', false],
      ['http://d.org/', true],
      ['http://x.d.org/', true],
      ['http://www.e.org/path/more', true],
      ['http://www.e.org:81/path/', true],
      ['http://www.e.org/path', false],
      ['http://www.e.org/', false],
      ['http://www.e.org', false],
      ['http://a.org.evil.net/', false],
      [`http://${'a'.repeat(300)}.b.org/`, false],
    ],
  ],
  [
    'f.org/',
    [
      ['http://f.org', false],
      ['http://f.org/', true],
      ['http://f.org/x', true],
    ],
  ],
  [
    '"~\\.g(oogle)?\\." ~h.org/x$',
    [
      ['http://www.google.com/', true],
      ['http://www.GOOGLE.com', true],
      ['http://h.org/x', true],
      ['http://h.org/x/', false],
      ['https://q/h.org/x', true],
    ],
  ],
  [
    'server_names',
    [
      ['http://site.net/', true],
      ['http://x.mask.net/', true],
      ['http://reg7/', true],
      ['http://reg/', false],
      ['http://other/', false],
    ],
  ],
  [
    'server_names b.org',
    [
      ['http://site.net/', true],
      ['http://b.org/', true],
      ['http://c.org/', false],
    ],
  ],
];

function conf(port: number): string {
  const locations = CASES.map(([words], at) => `location = /${at} { valid_referers ${words}; return 200 "[$invalid_referer]"; }`);
  return `server {
    listen 127.0.0.1:${port};
    server_name site.net *.mask.net "~^reg\\d$";
    ${locations.join('\n')}
    location = /without { return 200 "[$invalid_referer]"; }
    location /if { valid_referers none; valid_referers b.org; if ($invalid_referer) { return 403; } return 204; }
    location /outer { valid_referers a.org; location /outer/inner { return 200 "[$invalid_referer]"; } }
  }`;
}

async function assertCases(t: ExecutionContext, port: number): Promise<void> {
  const ask = (path: string, referer: string | undefined): ReturnType<typeof get> =>
    get(port, path, { headers: { host: 'site.net', ...(referer !== undefined && { referer }) } });
  for (const [at, [words, referers]] of CASES.entries())
    for (const [referer, isValid] of referers) t.is((await ask(`/${at}`, referer)).body, isValid ? '[]' : '[1]', `${words}: ${referer}`);
  t.is((await ask('/without', 'http://b.org')).body, '[]');
  t.is((await ask('/if', 'http://a.org')).status, 403);
  t.is((await ask('/if', 'http://b.org')).status, 204);
  t.is((await ask('/if', undefined)).status, 204);
  t.is((await ask('/outer/inner', 'http://b.org')).body, '[1]');
}

sameAsNginx('which referers are valid', (_, port) => conf(port), assertCases);

testWith('nginx')('nginx says the same of valid_referers', async (t) => {
  for (const words of [
    'a.org a.org',
    'a.org/x a.org/y',
    'a.*.org',
    '*.a.*',
    '*',
    '*a.org',
    '"~"',
    '""',
    'none none',
    'none blocked',
    '.a.org a.org',
  ]) {
    const server = `server { valid_referers ${words}; }`;
    const verdict = nginxVerdict(t, server);
    t.not(verdict, '', words);
    const { stderr } = await check(t, `events {} http { ${server} }`);
    t.true(stderr.includes(verdict), `${words}\n${verdict}\n${stderr}`);
  }
});
