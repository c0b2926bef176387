/** `split_clients` (ngx_http_split_clients_module): the same text is in the same part as with nginx. */
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { nginxVerdict, startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';

/** Keys in one request: their parts come back as one line. */
const BATCH = 40;
const KEYS = Array.from({ length: 4000 }, (_, at) => keyOf(at));

/** Of all lengths from 0 to 11, as hashes are made of four bytes at a time; with bytes above 127. */
function keyOf(at: number): string {
  return `${'%C3%A9'.repeat(at % 3)}key${at}`.slice(0, at % 7 === 0 ? at % 6 : undefined).replace(/%.?$/, '');
}

function conf(port: number): string {
  const names = Array.from({ length: BATCH }, (_, at) => at);
  const percents = '0.5% a; 12.34% b; 0.01% c; 33% d; 24.15% e; .25% f; 5.% g;';
  const splits = names.map((at) => `split_clients "$arg_k${at}." $s${at} { ${percents} * rest; }`);
  return `${splits.join('\n')}
    split_clients $arg_k $all { 100% all; }
    split_clients $arg_k $part { 50% "$uri first"; }
    split_clients "x$arg_k-x" $none { }
    split_clients $seen $once { 50% low; * high; }
    server {
      listen 127.0.0.1:${port};
      location = /batch { return 200 "${names.map((at) => `$s${at}`).join(' ')}"; }
      location = /text { return 200 "[$all] [$part] [$none]"; }
      location = /once { set $seen 1; set $a $once; set $seen $arg_k; return 200 "$a $once"; }
    }`;
}

/** The parts of all keys. */
async function partsOf(port: number): Promise<string> {
  const lines: string[] = [];
  for (let from = 0; from < KEYS.length; from += BATCH) {
    const args = KEYS.slice(from, from + BATCH).map((key, at) => `k${at}=${key}`);
    lines.push((await get(port, `/batch?${args.join('&')}`)).body);
  }
  return lines.join(' ');
}

async function start(t: ExecutionContext): Promise<number> {
  const port = await freePort(t);
  await startSrv(t, `events {} http { ${conf(port)} }`);
  return port;
}

test('parts have the size that they are given', async (t) => {
  const port = await start(t);
  const parts = (await partsOf(port)).split(' ');
  const partOf = new Map(KEYS.map((key, at) => [key, parts[at]]));
  const share = (part: string): number => (100 * [...partOf.values()].filter((other) => other === part).length) / partOf.size;
  for (const [part, percent] of Object.entries({ a: 0.5, b: 12.34, d: 33, e: 24.15, g: 5, rest: 24.75 }))
    t.true(Math.abs(share(part) - percent) < 3, `${part}: ${share(part)}`);
  t.regex((await get(port, '/text?k=a')).body, /^\[all\] \[(?:\$uri first)?\] \[\]$/);
  t.is(new Set((await get(port, '/once?k=22')).body.split(' ')).size, 1, 'a request has one value');
});

testWith('nginx')('nginx puts every one of thousands of keys into the same part', async (t) => {
  const port = await start(t);
  const nginx = await freePort(t);
  await startNginx(t, conf(nginx));
  t.is(await partsOf(port), await partsOf(nginx));
  for (const path of ['/text?k=a', '/text?k=b', '/text?k=', '/text?k=abc', '/once?k=2', '/once?k=3'])
    t.is((await get(port, path)).body, (await get(nginx, path)).body, path);
});

testWith('nginx')('nginx says the same of a split_clients', async (t) => {
  for (const entries of [
    '0.5% a; 99.6% b; * c;',
    '0.5% a; 99.51% b;',
    '* c; 1% a;',
    '0.555% c;',
    '50 c;',
    '0% c;',
    '0.00% c;',
    '-1% c;',
    '101% c;',
    'foo c;',
    '% c;',
    '"" c;',
    '1e1% c;',
  ]) {
    const split = `split_clients $arg_a $x { ${entries} }`;
    const verdict = nginxVerdict(t, split);
    t.not(verdict, '', split);
    const { stderr } = await check(t, `events {} http { ${split} }`);
    t.true(stderr.includes(verdict), `${split}\n${verdict}\n${stderr}`);
  }
});

for (const [split, message] of Object.entries({
  'split_clients $arg_a x { * a; }': 'invalid variable name "x"',
  'split_clients $arg_a $uri { * a; }': 'the duplicate "uri" variable',
  'split_clients $nowhere $x { * a; }': 'unknown "nowhere" variable',
  'split_clients $arg_a { * a; }': 'invalid number of arguments in "split_clients" directive',
  'split_clients $arg_a $x { 50%; }': 'invalid number of arguments in "split_clients" directive',
})) {
  test(`rejected: ${split}`, async (t) => {
    const { stderr } = await check(t, `events {} http { ${split} }`);
    t.true(stderr.includes(`[emerg] ${message} in`), stderr);
  });
}
