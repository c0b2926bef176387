/** `map` (ngx_http_map_module): each case is nginx's response to the same configuration. */
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';

interface Case {
  /** Inside of `map $arg_a $rN { … }`. */
  readonly map: string;
  readonly words?: string;
  /** `$arg_a`, and the value. */
  readonly values: Readonly<Record<string, string>>;
}

const CASES: Readonly<Record<string, Case>> = {
  'strings in any case, and a default': {
    map: 'one 1; TWO 2; "" empty; default other;',
    values: { one: '1', ONE: '1', two: '2', '': 'empty', x: 'other' },
  },
  'without a default the value is empty': { map: 'one 1;', values: { one: '1', x: '' } },
  'expressions in order, after strings': {
    map: '~^a(.) "first:$1"; ~*^A(?<tail>.*)$ "second:$tail"; abc exact; default none;',
    values: { abx: 'first:b', abc: 'exact', ABX: 'second:BX', b: 'none' },
  },
  'values with variables': { map: 'one "$request_method-$arg_b"; default $arg_a;', values: { 'one&b=2': 'GET-2', x: 'x' } },
  'host names': {
    map: 'hostnames; default none; example.com exact; *.example.com lead; .dot.org dot; www.* trail; *.deep.example.com deep;',
    values: {
      'example.com': 'exact',
      'a.example.com': 'lead',
      'b.deep.example.com': 'deep',
      'dot.org': 'dot',
      'a.dot.org': 'dot',
      'www.x.y': 'trail',
      'example.com.': 'exact',
      z: 'none',
    },
  },
  'masks are plain strings without the word': {
    map: '*.example.com mask; default none;',
    values: { 'a.example.com': 'none', '*.example.com': 'mask' },
  },
  'special words behind a backslash': { map: '\\default 1; \\hostnames 2; default none;', values: { default: '1', hostnames: '2' } },
  'included files': { map: 'include INCLUDED; default none;', values: { included: 'yes', x: 'none' } },
};

async function conf(t: ExecutionContext, port: number): Promise<string> {
  const included = writeInto(tempFolder(t), 'more.map', 'included yes;');
  const maps = Object.values(CASES).map(({ map }, at) => `map $arg_a $r${at} { ${map.replace('INCLUDED', included)} }`);
  const locations = Object.keys(CASES).map((_, at) => `location = /${at} { return 200 "[$r${at}]"; }`);
  return `${maps.join('\n')}
    map $seen $cached { default "$seen"; }
    map $seen $fresh { volatile; default "$seen"; }
    map $arg_a $before { default "map"; }
    map $own $own { default "own"; }
    map $first $second { default "second"; }
    map $second $first { default "first"; }
    geo $around $around { default 7; }
    map $document_root $folder { default "/none"; }
    server {
      listen 127.0.0.1:${port};
      ${locations.join('\n')}
      location = /cached { set $seen 1; set $a "$cached$fresh"; set $seen 2; return 200 "$a-$cached$fresh"; }
      location = /cycle { return 200 "$own $first $second $around"; }
      location = /root { root $folder; return 200 "$folder"; }
      location = /set { set $before "set"; set $after "set"; return 200 "$before $after"; }
      location = /if { if ($arg_a) { set $before "if"; set $after "if"; } return 200 "$before $after"; }
    }
    map $arg_a $after { default "not this"; }
    map $arg_a $after { default "map"; }`;
}

async function assertCases(t: ExecutionContext, port: number): Promise<void> {
  for (const [at, [name, { values }]] of Object.entries(CASES).entries())
    for (const [argument, value] of Object.entries(values))
      t.is((await get(port, `/${at}?a=${argument}`)).body, `[${value}]`, `${name}: ${argument}`);
  t.is((await get(port, '/cached')).body, '11-12', 'a request has one value, unless it is volatile');
  t.is((await get(port, '/set')).body, 'set set', 'a map may have the name of a variable that is set');
  t.is((await get(port, '/cycle')).body, 'own first second 7', 'a variable has no value where it is evaluated for itself');
  t.is((await get(port, '/root')).body, '/none', 'nor by way of another directive');
  t.is((await get(port, '/if')).body, 'map map', 'and has its value until then');
  t.is((await get(port, '/if?a=1')).body, 'if if');
}

sameAsNginx('values of a map', conf, assertCases);

const withMap = (map: string, text: string): string =>
  `events {} http { ${map} server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 "${text}"; } location /other { return 200 other; } } }`;

test('a map is changed at a reload: the new one is active, and its name ends with it', async (t) => {
  const srv = await startSrv(t, withMap('map $arg_a $b { x 1; default 2; }', '$b'));
  const port = srv.port('web');
  t.is((await get(port, '/?a=x')).body, '1');
  await srv.configure(withMap('map $arg_a $b { x 3; default 4; }', '$b'));
  srv.signal('SIGHUP');
  await waitFor('the new map', async () => (await get(port, '/?a=x')).body === '3');

  await srv.configure(withMap('', '$b'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/unknown "b" variable/);
  t.is((await get(port, '/?a=y')).body, '4', 'refused as the next start would');

  await srv.configure(withMap('', 'gone'));
  srv.signal('SIGHUP');
  await waitFor('no map', async () => (await get(port, '/')).body === 'gone');
});

test('a cycle of variables that a reload makes is an error in the log, and ends at a reload', async (t) => {
  const cycle = withMap('map $arg_x $a { default "a($b)"; } map $a $b { default "b($a)"; } map $arg_x $c { default $b; }', '$c');
  const straight = cycle.replace('a($b)', 'a');
  const srv = await startSrv(t, straight);
  const body = async (): Promise<string> => (await get(srv.port('web'), '/')).body;
  t.is(await body(), 'b(a)');
  await srv.configure(cycle);
  srv.signal('SIGHUP');
  await waitFor('the cycle', async () => (await body()) !== 'b(a)');
  t.is(await body(), 'b(a())');
  await srv.waitForLog(/cycle while/);
  const lines = (): number => srv.log().split('cycle while').length - 1;
  const before = lines();
  for (let n = 0; n < 3; n++) await body();
  await waitFor('one line for each request', () => lines() >= before + 3);
  t.true(lines() <= before + 4, 'and no more: the one before may have been late');
  t.regex(srv.log(), /\[error\] .*cycle while evaluating variable "b", client: 127\.0\.0\.1, .*request: "GET \/ HTTP\/1\.1"/);
  t.notRegex(srv.log(), /\[crit\]|Maximum call stack/);
  await srv.configure(straight);
  srv.signal('SIGHUP');
  await waitFor('the end of the cycle', async () => (await body()) === 'b(a)');
});

for (const [map, message] of Object.entries({
  'map $arg_a b { }': 'invalid variable name "b"',
  'map $arg_a $uri { }': 'the duplicate "uri" variable',
  'map $nowhere $b { }': 'unknown "nowhere" variable',
  'map $arg_a $b { x; }': 'invalid number of the map parameters',
  'map $arg_a $b { x 1; X 2; }': 'conflicting parameter "X"',
  'map $arg_a $b { default 1; default 2; }': 'duplicate default map parameter',
  'map $arg_a $b { x $nowhere; }': 'unknown "nowhere" variable',
})) {
  test(`rejected: ${map}`, async (t) => {
    const run = await check(t, `events {} http { ${map} server { location / { return 200; } } }`);
    t.true(run.stderr.includes(`[emerg] ${message} in`), run.stderr);
  });
}
