/** Regular expressions are PCRE's, as nginx compiles them, and not JavaScript's. */
import test from 'ava';
import { get } from '../harness/client.js';
import { nginxVerdict, startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { check } from '../harness/check.js';
import { startSrv } from '../harness/srv.js';

/** An expression, paths that it matches and paths that it does not. */
const CASES: readonly (readonly [pattern: string, matching: string, others: string])[] = [
  [String.raw`^/admin/[[:digit:]]+$`, '/admin/42 /admin/4%0A', '/admin/a /admin/: /admin/4%0A%0A /admin/4%0D'],
  [String.raw`^/[[:^alpha:]_]$`, '/1 /_ /%0A', '/a /Z'],
  [String.raw`^/[[:space:][:punct:]x-z]+$`, '/%20%0A /~! /xyz', '/a /%A0'],
  [String.raw`\A/p`, '/p /p/x', '/ap /A/p'],
  [String.raw`\.php\z`, '/a.php', '/a.php%0A /a.phpz'],
  [String.raw`\.php\Z`, '/a.php /a.php%0A', '/a.php%0A%0A /a.phpZ'],
  [String.raw`\.php$`, '/a.php /a.php%0A', '/a.php%0D /a.phpx'],
  [String.raw`^/\Qa.b+\E*$`, '/a.b+ /a.b++ /a.b', '/axb+ /a.bb'],
  [String.raw`^/[\Qa-z\E]$`, '/a /- /z', '/b /Q'],
  [String.raw`^/a\hb\Hc`, '/a%20bxc /a%09b%0Ac /a%A0bxc', '/ahbHc /a%0Abxc /a%20b%20c'],
  [String.raw`^/a\vb\Vc`, '/a%0Bbxc /a%0Ab%20c /a%85bxc', '/avbxc /a%20bxc /a%0Ab%0Ac'],
  [String.raw`^/a\sb\Sc`, '/a%20bxc /a%0Bb%A0c', '/a%A0bxc /a%20b%20c'],
  [String.raw`^/a\Rb$`, '/a%0D%0Ab /a%0Ab /a%0Db', '/aRb /a%0D%0D%0Ab'],
  [String.raw`^/a\R\nb$`, '/a%0D%0A%0Ab /a%0A%0Ab', '/a%0D%0Ab'],
  [String.raw`\G/a`, '/a', '/b/a /G/a'],
  [String.raw`^/a.b\Nc$`, '/axbxc /a%0Db%0Dc', '/a%0Abxc /axb%0Ac'],
  [String.raw`^/(?s)a.b`, '/a%0Ab /axb', '/ab'],
  [String.raw`^/(?#nothing)a(?# at all )b$`, '/ab', '/anothingb'],
  [String.raw`(?i)^/admin`, '/ADMIN /admin', '/adm'],
  [String.raw`^/a(?i)b|c(?-i)d$`, '/ab /aB /xcd /xCd', '/AB /xcD'],
  [String.raw`^/(a(?i)b|c)d$`, '/abd /aBd /cd /Cd', '/Abd /abD /cD'],
  [String.raw`^/a(?i:b)c$`, '/abc /aBc', '/aBC'],
  [String.raw`^/(?P<one>.)(?<two>.)(?'three'.)(?P=one)\k<two>\k{three}\g{one}$`, '/abcabca', '/abcabcb /abccbaa'],
  [String.raw`^/(.)(.)\1\g2\g{-1}\g{1}0$`, '/ababba0', '/ababb%080 /ababbb0'],
  [String.raw`^/\o{101}\x{42}\x43\104\e?\a?\x1$`, '/ABCD%1B%07%01 /ABCD%01', '/ABCDea%01 /ABCD'],
  [String.raw`^/\cA\10$`, '/%01%08', '/cA%08'],
  [String.raw`^/[]a]+$`, '/] /a]', '/b'],
  [String.raw`^/[^]a]+$`, '/b', '/] /a'],
  ['^/[[.]a.]$', '/[a.] /.ab]', '/aa.] /[a.'],
  [String.raw`^/[a[b-]$`, '/[ /a /-', '/c'],
  [String.raw`^/[\d.-]+[\e\a\b]$`, '/1.-%1B /2%07 /3%08', '/1e /2a /3b'],
  [String.raw`^/a{,3}b{2}c{1,}$`, '/a{,3}bbcc', '/aabbc /a{,3}bc'],
  [String.raw`^/\/\-\_\@\{}$`, '//-_@{} ', '/x'],
  ['^/ü.$', '/%C3%BCx', '/%FCx /%C3%BC'],
  [String.raw`(?i)^/[a-c\x44Y-z]e\x46$`, '/Aef /DEF /yEf /_ef /eeF', '/1ef /@ef'],
  [String.raw`(?i)^/[^a-cx]$`, '/d /D', '/a /C /X'],
  [String.raw`(?i)^/(a)b\1$`, '/aba /ABA /aBA', '/abb'],
  ['(?i)^/ü$', '/%C3%BC', '/%E3%BC'],
  [String.raw`^/\p{L}\pN\P{L}$`, '/a1- /%E91%A0 /Z%B2%D7', '/a1a /1a- /%D71-'],
  [String.raw`^/\p{Lu}\p{^Lu}$`, '/Aa /%C9%E9 /%DE%DF', '/aA /AA /%D7a'],
  [String.raw`(?i)^/\p{Lu}[\p{Ll}1]\p{L&}$`, '/AaA /A1a', '/aaA /AAA /Aa1'],
  [String.raw`(?i)^/\p{Lu}(a)\1$`, '/Aaa /AaA', '/aaa /Aab'],
  [String.raw`^/[\p{Greek}\p{Han}x]\p{Latin}[^\P{Latin}b]$`, '/xaa /x%AAa', '/x1a /%B5aa /xab'],
  [String.raw`^/\p{Any}\p{Xan}\p{Xsp}\p{Xwd}\p{Xps}$`, '/%FFa%A0_%20 /-%B2%A0a%0B', '/-- /%FF_%A0_%20'],
  [
    String.raw`^/\p{Sc}\p{Sm}\p{So}\p{Sk}\p{Zs}\p{Pi}\p{Pf}\p{No}\p{Cc}\p{Cf}$`,
    '/$%2B%A9%5E%20%AB%BB%BD%85%AD',
    '/%2B$%A9%5E%20%AB%BB%BD%85%AD',
  ],
];

function locations(port: number | string): string {
  return CASES.map(([pattern], index) => {
    const quoted = pattern.replaceAll(/\\(?=["'\\trn])/g, String.raw`\\`);
    return `server { listen 127.0.0.1:${port}; merge_slashes off; server_name p${index}; location ~ "${quoted}" { return 200 yes; } location / { return 200 no; } }`;
  }).join('\n');
}

/** What differs from the table. */
async function surprises(port: number): Promise<string[]> {
  const found: string[] = [];
  for (const [index, [pattern, matching, others]] of CASES.entries()) {
    for (const [paths, expected] of [
      [matching, 'yes'],
      [others, 'no'],
    ] as const) {
      for (const path of paths.trim().split(' ')) {
        const { body } = await get(port, path, { headers: { host: `p${index}` } });
        if (body !== expected) found.push(`${pattern} on ${path}: ${body}`);
      }
    }
  }
  return found;
}

test('an expression matches what PCRE matches with it', async (t) => {
  const srv = await startSrv(t, `events {} http { ${locations('%%PORT_web%%')} }`);
  t.deepEqual(await surprises(srv.port('web')), []);
});

testWith('nginx')('nginx agrees about what expressions match', async (t) => {
  const port = await freePort(t);
  await startNginx(t, `server_names_hash_bucket_size 128; ${locations(port)}`);
  t.deepEqual(await surprises(port), []);
});

/** PCRE has it, JavaScript has nothing like it. */
const UNSUPPORTED = [
  String.raw`a\Kb`,
  String.raw`a\X`,
  '(?|a|b)',
  '(?x)a b',
  '(?m)^a',
  '(?>a)',
  'a++',
  'a{2}+',
  '(?<x>a)(?P>x)',
  '(?R)?',
  String.raw`(?<x>a)\g<x>`,
  '(*ANYCRLF)a',
  '(a)?(?(1)b|c)',
  String.raw`(?i)(a)[\pL]\1`,
];

/** PCRE rejects it too. */
const INVALID = [
  '(',
  ')',
  '(?<1a>x)',
  '(?<a>x)(?<a>y)',
  '(?Z)',
  '[z',
  '[[:foo:]]',
  '[[:constructor:]]',
  '[[.a.]]',
  '[[:Alpha:]]',
  '[:digit:]',
  '[..]',
  String.raw`\O{101}`,
  '[b-a]',
  String.raw`[a-\d]`,
  String.raw`[\d-a]`,
  String.raw`[\z]`,
  String.raw`\8`,
  String.raw`(a)\2`,
  String.raw`\k<x>`,
  String.raw`\i`,
  String.raw`\u0041`,
  String.raw`\x{100}`,
  String.raw`\N{U+41}`,
  String.raw`\p{Nonsense}`,
  String.raw`[\p{Nonsense}]`,
  String.raw`\p`,
  String.raw`\p{constructor}`,
  '*a',
  'a**',
  'a{3,2}',
];

test('what cannot be translated and what PCRE rejects is rejected, wherever it stands', async (t) => {
  const patterns = [...UNSUPPORTED, ...INVALID];
  const conf = (form: (pattern: string) => string): string =>
    `events {} http { server { listen 8001;\n${patterns.map((pattern) => form(pattern)).join('\n')}\n} }\n`;
  const lines = patterns.map((_, index) => index + 2);
  for (const form of [
    (pattern: string) => `location ~ "${pattern}" { }`,
    (pattern: string) => `server_name "~${pattern}";`,
    (pattern: string) => `location "/${pattern}" { proxy_redirect "~*${pattern}" /; }`,
  ]) {
    const { stderr } = await check(t, conf(form));
    const reported = [...stderr.matchAll(/^srv: \[emerg\] invalid regular expression ".*": .* in .*:(\d+)$/gm)].map(([, line]) =>
      Number(line),
    );
    t.deepEqual(reported, lines, stderr);
  }
});

test('what is not there of PCRE is reported with a hint', async (t) => {
  for (const pattern of UNSUPPORTED) {
    const { stderr } = await check(t, `events {} http { server { listen 8001; location ~ "${pattern}" { } } }`);
    t.regex(stderr, /supported( at ".*")? in .*\n[^]*docs\/configuration\.md/, pattern);
  }
});

testWith('nginx')('nginx rejects the invalid expressions and takes the unsupported ones', (t) => {
  const verdict = (pattern: string): string => nginxVerdict(t, `server { location ~ "${pattern}" { return 204; } }`);
  for (const pattern of INVALID) t.regex(verdict(pattern), /^pcre2?_compile\(\) failed: /, pattern);
  for (const pattern of UNSUPPORTED) t.is(verdict(pattern), '', pattern);
});

/** Each tries for minutes with 40 characters and one that does not fit, unless somebody ends it. */
for (const modifier of ['~', '~*']) {
  test(`an expression that tries too much holds nobody up: ${modifier}`, async (t) => {
    const srv = await startSrv(
      t,
      `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location ${modifier} ^/((a+)+)(b|x*)*$ { return 200 $1; } location / { return 200 no; } } }`,
    );
    t.is((await get(srv.port('web'), `/${'a'.repeat(40)}!`)).body, 'no');
    t.is((await get(srv.port('web'), `/${'a'.repeat(40)}b`)).body, 'a'.repeat(40));
  });
}
