/** `geo` (ngx_http_geo_module): each case is nginx's response to the same configuration. */
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { nginxVerdict } from '../harness/nginx.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';

interface Case {
  /** Inside of `geo $arg_a $rN { … }`. */
  readonly geo: string;
  /** `$arg_a`, and the value. */
  readonly values: Readonly<Record<string, string>>;
}

const CASES: Readonly<Record<string, Case>> = {
  'the most specific network decides, in whatever order they are written': {
    geo: 'default none; 10.1.1.0/24 c; 10.0.0.0/8 a; 10.1.0.0/16 b; 10.1.1.7 d; 10.1.1.128/25 e;',
    values: {
      '10.2.0.0': 'a',
      '10.1.2.255': 'b',
      '10.1.1.0': 'c',
      '10.1.1.6': 'c',
      '10.1.1.7': 'd',
      '10.1.1.8': 'c',
      '10.1.1.127': 'c',
      '10.1.1.128': 'e',
      '10.1.1.255': 'e',
      '10.1.2.0': 'b',
      '10.255.255.255': 'a',
      '11.0.0.0': 'none',
      '9.255.255.255': 'none',
    },
  },
  'without a default the value is empty': { geo: '10.0.0.0/8 a;', values: { '10.0.0.1': 'a', '11.0.0.1': '' } },
  'both ends of all addresses': {
    geo: '0.0.0.0/1 low; 255.255.255.255 last; 128.0.0.0/1 high; default unused;',
    values: { '0.0.0.0': 'low', '127.255.255.255': 'low', '128.0.0.0': 'high', '255.255.255.254': 'high', '255.255.255.255': 'last' },
  },
  'what is no address is 255.255.255.255': {
    geo: 'default none; 255.255.255.255 odd;',
    values: { '': 'odd', foo: 'odd', '1.2.3': 'odd', 'unix:': 'odd', '10.0.0.1': 'none' },
  },
  'IPv6 beside IPv4': {
    geo: 'default none; ::1 one; 2001:db8::/32 doc; 2001:db8:1::/48 part; ffff::/16 last; 127.0.0.0/8 four;',
    values: {
      '::1': 'one',
      '::2': 'none',
      '2001:db8::5': 'doc',
      '2001:DB8:1:0::5': 'part',
      '2001:db8:2::': 'doc',
      '2001:db9::': 'none',
      'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff': 'last',
      '::ffff:127.0.0.1': 'four',
      '127.0.0.1': 'four',
    },
  },
  'low bits are ignored, a later value replaces an earlier one': {
    geo: '10.0.0.1/8 first; 10.0.0.0/8 second; 2001:db8::1/32 six;',
    values: { '10.9.9.9': 'second', '2001:db8::': 'six' },
  },
  'deleted networks': {
    geo: 'default none; 10.0.0.0/8 a; 10.1.0.0/16 b; delete 10.1.0.0/16; 192.168.0.0/16 c; delete 192.168.0.0/16; ::1 d; delete ::1;',
    values: { '10.1.0.1': 'a', '192.168.0.1': 'none', '::1': 'none' },
  },
  'values are text': {
    geo: 'default $uri; 10.0.0.1 "two words"; 10.0.0.2 "";',
    values: { '9.9.9.9': '$uri', '10.0.0.1': 'two words', '10.0.0.2': '' },
  },
  'included files': { geo: 'include INCLUDED; default none;', values: { '10.3.0.1': 'included', '10.4.0.1': 'none' } },
  ranges: {
    geo: `ranges; default none; 10.0.0.0-10.0.0.255 a; 10.0.0.128-10.0.0.130 b; 10.1.0.0-10.4.255.255 c; 10.2.0.0-10.2.255.255 d;
      127.0.0.0-127.0.0.0 e; 1.1.1.1-1.1.1.1 early;`,
    values: {
      '10.0.0.0': 'a',
      '10.0.0.127': 'a',
      '10.0.0.128': 'b',
      '10.0.0.130': 'b',
      '10.0.0.131': 'a',
      '10.0.1.0': 'none',
      '10.1.0.0': 'c',
      '10.1.255.255': 'c',
      '10.2.7.7': 'd',
      '10.3.0.0': 'c',
      '10.4.255.255': 'c',
      '10.5.0.0': 'none',
      '127.0.0.0': 'e',
      '127.0.0.1': 'none',
      '1.1.1.1': 'early',
      '::ffff:10.0.0.129': 'b',
    },
  },
  'ranges are for IPv4; what is something else is 255.255.255.255': {
    geo: 'ranges; default none; 255.255.255.0-255.255.255.254 last; 0.0.0.0-0.0.0.1 zero;',
    values: { '::1': 'none', foo: 'none', '255.255.255.254': 'last', '0.0.0.0': 'zero', '0.0.0.2': 'none' },
  },
  'deleted ranges': {
    geo: 'ranges; default none; 10.0.0.0-10.0.0.9 a; delete 10.0.0.0-10.0.0.9; 10.0.1.0-10.0.1.9 b; 10.0.1.0-10.0.1.9 c;',
    values: { '10.0.0.1': 'none', '10.0.1.1': 'c' },
  },
};

/** `$arg_f` is what the proxies tell. */
const FORWARDED: readonly (readonly [path: string, field: string | undefined, value: string])[] = [
  ['/plain', undefined, 'local'],
  ['/plain', '10.0.0.1', 'local'],
  ['/proxy', undefined, 'local'],
  ['/proxy', '10.0.0.1', 'ten'],
  ['/proxy', '192.168.0.1, 10.0.0.1', 'ten'],
  ['/proxy', '10.0.0.1, 192.168.0.1', 'none'],
  ['/proxy', '10.0.0.1, foo', 'local'],
  ['/proxy', 'foo, 10.0.0.1:5000', 'ten'],
  ['/recursive', '10.0.0.1, 127.0.0.5', 'ten'],
  ['/recursive', '10.0.0.1, 192.168.0.1, 127.0.0.5', 'none'],
  ['/recursive', '127.0.0.5', 'local'],
  ['/recursive', 'foo, 127.0.0.5', 'local'],
  ['/untrusted', '10.0.0.1', 'local'],
];

async function conf(t: ExecutionContext, port: number): Promise<string> {
  const included = writeInto(tempFolder(t), 'more.geo', '10.3.0.0/16 included;');
  const geos = Object.values(CASES).map(({ geo }, at) => `geo $arg_a $r${at} { ${geo.replace('INCLUDED', included)} }`);
  const locations = Object.keys(CASES).map((_, at) => `location = /${at} { return 200 "[$r${at}]"; }`);
  const networks = 'default none; 127.0.0.0/8 local; 10.0.0.0/8 ten;';
  return `${geos.join('\n')}
    geo $plain { ${networks} }
    geo $proxy { ${networks} proxy 127.0.0.0/8; }
    geo $recursive { ${networks} proxy 127.0.0.0/8; proxy_recursive; }
    geo $untrusted { ${networks} proxy 192.168.0.0/16; }
    geo $seen $once { default other; 10.0.0.0/8 ten; }
    server {
      listen 127.0.0.1:${port};
      ${locations.join('\n')}
      location = /plain { return 200 "$plain"; }
      location = /proxy { return 200 "$proxy"; }
      location = /recursive { return 200 "$recursive"; }
      location = /untrusted { return 200 "$untrusted"; }
      location = /once { set $seen 10.0.0.1; set $a $once; set $seen 11.0.0.1; return 200 "$a $once"; }
    }`;
}

async function assertCases(t: ExecutionContext, port: number): Promise<void> {
  for (const [at, [name, { values }]] of Object.entries(CASES).entries())
    for (const [argument, value] of Object.entries(values))
      t.is((await get(port, `/${at}?a=${argument}`)).body, `[${value}]`, `${name}: ${argument}`);
  for (const [path, field, value] of FORWARDED) {
    const headers = field === undefined ? {} : { 'x-forwarded-for': field };
    t.is((await get(port, path, { headers })).body, value, `${path}: ${field}`);
  }
  t.is((await get(port, '/once')).body, 'ten ten', 'a request has one value');
}

sameAsNginx('values of a geo', conf, assertCases);

const VERDICTS: readonly string[] = [
  'geo $x { default a; default b; }',
  'geo $x { 10.0.0.0/8 a; 10.0.0.0/8 b; }',
  'geo $x { default a; ::/0 b; }',
  'geo $x { default a; 0.0.0.0/0 b; }',
  'geo $x { 10.0.0.1/8 a; }',
  'geo $x { 2001:db8::1/32 b; }',
  'geo $x { 10.0.0.0/33 a; }',
  'geo $x { foo a; }',
  'geo $x { 10.1 a; }',
  'geo $x { 10.1.1.1/ a; }',
  'geo $x { unix: a; }',
  'geo $x { delete 10.0.0.0/8; }',
  'geo $x { delete foo; }',
  'geo $x { 10.0.0.0/8 a b; }',
  'geo $x { 10.0.0.0/8; }',
  'geo $x { proxy; }',
  'geo $x { proxy foo; }',
  'geo $x { proxy 10.0.0.1/8; }',
  'geo $x { ranges x; }',
  'geo x { default a; }',
  'geo a $x { default a; }',
  'geo $a x { default a; }',
  'geo $uri { default a; }',
  'geo { default a; }',
  'geo $x { ranges; 10.0.0.0-10.0.0.9 a; 10.0.0.5-10.0.0.20 b; }',
  'geo $x { ranges; 1.1.1.6-1.1.1.7 a; 1.1.1.1-1.1.1.9 b; }',
  'geo $x { ranges; 1.1.1.6-1.1.1.7 a; 1.1.1.1-1.1.1.6 b; }',
  'geo $x { ranges; 10.0.0.0-10.0.0.9 a; 10.0.0.0-10.0.0.9 b; }',
  'geo $x { ranges; default q; default z; }',
  'geo $x { ranges; delete 1.1.1.1-1.1.1.2; }',
  'geo $x { ranges; delete foo; }',
  'geo $x { ranges; 10.0.0.9-10.0.0.0 a; }',
  'geo $x { ranges; 10.0.0.0/8 a; }',
  'geo $x { ranges; 1.1.1.1 a; }',
  'geo $x { ranges; ::1-::2 a; }',
  'geo $x { ranges; 1.1.1.1- a; }',
  'geo $x { 10.0.0.0/8 a; ranges; }',
  'geo $x { default q; ranges; }',
];

testWith('nginx')('nginx says the same of a geo', async (t) => {
  for (const geo of VERDICTS) {
    const verdict = nginxVerdict(t, geo);
    t.not(verdict, '', geo);
    const { stderr } = await check(t, `events {} http { ${geo} }`);
    t.true(stderr.includes(verdict), `${geo}\n${verdict}\n${stderr}`);
  }
});

test('a warning names its line', async (t) => {
  const run = await check(t, 'events {} http { geo $x {\n default a;\n 10.0.0.1/8 a;\n} }');
  t.regex(run.stderr, /\[warn\] low address bits of 10\.0\.0\.1\/8 are meaningless in \S+srv\.conf:3\n/);
});

test('volatile: the value is looked up each time', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http {
      geo $seen $fresh { volatile; default other; 10.0.0.0/8 ten; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { set $seen 10.0.0.1; set $a $fresh; set $seen 11.0.0.1; return 200 "$a $fresh"; }
      } }`,
  );
  t.is((await get(srv.port('web'), '/')).body, 'ten other');
});

/** The first three numbers of one of many networks. */
function networkAt(at: number): string {
  return `${1 + (at % 200)}.${Math.floor(at / 200)}.0`;
}

function manyNetworks(shift: number): string {
  return Array.from({ length: 10_000 }, (_, at) => `${networkAt(at)}.0/24 v${(at + shift) % 10};`).join('\n');
}

test('an included file of 10,000 networks: every one is found, and a reload takes another one', async (t) => {
  const srv = await startSrv(
    t,
    'events {} http { geo $arg_a $x { default none; include many.geo; } server { listen 127.0.0.1:%%PORT_web%%; return 200 $x; } }',
    { files: { 'conf/many.geo': manyNetworks(0) } },
  );
  const port = srv.port('web');
  const value = async (at: number): Promise<string> => (await get(port, `/?a=${networkAt(at)}.9`)).body;
  for (let at = 0; at < 10_000; at += 777) t.is(await value(at), `v${at % 10}`);
  t.is((await get(port, '/?a=201.0.0.1')).body, 'none');
  writeInto(srv.prefix, 'conf/many.geo', manyNetworks(1));
  srv.signal('SIGHUP');
  await waitFor('the other file', async () => (await value(0)) === 'v1', 60_000);
});
