/** The modules that give sessions variables: map, geo, split_clients, set, and return, which shows them. */
import test from 'ava';
import { get } from '../harness/client.js';
import { readRoot } from '../docs/source-files.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { rejects } from './rejected.js';
import { reply } from './reply.js';

const SHOWN: Readonly<Record<string, string>> = {
  set: 'set $greeting "hello $remote_addr"; set $GREETING "$greeting!"; return "$greeting\\n";',
  reset: 'return "$late|$mapped_late"; set $late x;',
  map: 'return "$by_text $by_pattern $pair";',
  hosts: 'set $host www.example.org; return $by_host;',
  geo: 'return "$net $net6 $range";',
  split: 'return $half;',
  empty: 'return "";',
  version: 'return "$nginx_version";',
  bytes: 'return "é\\r\\n";',
};

const DEFINITIONS = `
  map $remote_addr $by_text { 127.0.0.1 first; 127.0.0.2 second; default "$remote_addr?"; }
  map $remote_addr $by_pattern { ~^127\\.0\\.0\\.(?<last>\\d)$ "ends in $last$1"; default none; }
  map "$remote_addr-$protocol" $pair { 127.0.0.2-TCP both; }
  map $late $mapped_late { x late; "" early; }
  map $host $by_host { hostnames; *.example.org masked; default none; }
  geo $net { default all; 127.0.0.0/8 local; 127.0.0.2 two; }
  geo $six $net6 { default all6; 2001:db8::/32 documentation; }
  map $remote_addr $six { 127.0.0.2 2001:db8::7; default ::1; }
  geo $range { ranges; default out; 127.0.0.2-127.0.0.9 in; }
  split_clients $remote_addr $half { 50% one; * other; }
  map_hash_max_size 2048; map_hash_bucket_size 64;`;

const configuration = (changing: string): string =>
  `worker_processes 1; events {}
  stream { ${DEFINITIONS} ${Object.entries(SHOWN)
    .map(([name, body]) => `server { listen 127.0.0.1:%%PORT_${name}%%; ${body} }`)
    .join(' ')}
    map $protocol $changing { default ${changing}; } server { listen 127.0.0.1:%%PORT_changing%%; return $changing; } }
  http { split_clients $arg_a $half { 50% one; * other; } server { listen 127.0.0.1:%%PORT_http%%; location / { return 200 $half; } location = /version { return 200 $nginx_version; } } }`;

const server = shared((scope) => startSrv(scope, configuration('old')));

const shown = async (name: string, from?: string): Promise<string> => reply((await server()).port(name), { ...(from && { from }) });

test('return sends a text with variables, and closes the connection', async (t) => {
  t.is(await shown('set', '127.0.0.3'), 'hello 127.0.0.3!\n');
});

test('set takes place before the content, and a map may use it', async (t) => {
  t.is(await shown('reset'), 'x|late');
});

test('map: texts, expressions with groups, several variables, a default with variables', async (t) => {
  t.is(await shown('map'), 'first ends in 11 ');
  t.is(await shown('map', '127.0.0.2'), 'second ends in 22 both');
  t.is(await shown('map', '127.0.0.30'), '127.0.0.30? none ');
});

test('map: masks of host names', async (t) => {
  t.is(await shown('hosts'), 'masked');
});

test('geo: by the address of the client and by another one, networks and ranges', async (t) => {
  t.is(await shown('geo'), 'local all6 out');
  t.is(await shown('geo', '127.0.0.2'), 'two documentation in');
});

test('split_clients chooses what it chooses in http', async (t) => {
  const addresses = Array.from({ length: 12 }, (_, i) => `127.0.0.${i + 1}`);
  const chosen = await Promise.all(addresses.map((address) => shown('split', address)));
  const web = (await server()).port('http');
  t.deepEqual(chosen, await Promise.all(addresses.map(async (address) => (await get(web, `/?a=${address}`)).body)));
  t.deepEqual([...new Set(chosen)].toSorted(), ['one', 'other']);
});

test('nginx_version is the version of srv, in both engines', async (t) => {
  const { version } = JSON.parse(readRoot('package.json')) as { version: string };
  t.is(await shown('version'), version);
  t.is((await get((await server()).port('http'), '/version')).body, version);
});

test('return: an empty text closes the connection at once, others are bytes', async (t) => {
  t.is(await shown('empty'), '');
  t.is(await shown('bytes'), Buffer.from('é\r\n').latin1Slice());
});

test('a reload brings other values', async (t) => {
  const srv = await server();
  t.is(await shown('changing'), 'old');
  await srv.configure(configuration('new'));
  srv.signal('SIGHUP');
  await waitFor('the new value', async () => (await shown('changing')) === 'new');
  t.is(await shown('set'), 'hello 127.0.0.1!\n');
});

rejects([
  ['map $remote_addr { a b; }', /invalid number of arguments in "map" directive/],
  ['map $remote_addr x { a b; }', /invalid variable name "x"/],
  ['map $uri $x { a b; }', /unknown "uri" variable/],
  ['server { listen %%PORT_a%%; set x 1; return x; }', /invalid variable name "x"/],
  ['server { listen %%PORT_b%%; set $remote_addr 1; return x; }', /the duplicate "remote_addr" variable/],
  ['set $x 1;', /"set" directive is not allowed here/],
  ['server { listen %%PORT_c%%; return a; return b; }', /"return" directive is duplicate/],
  ['server { listen %%PORT_d%%; return $nope; }', /unknown "nope" variable/],
]);

rejects([
  ['map $remote_addr $x { a b; a c; }', /conflicting parameter "a"/],
  ['geo $y { proxy 127.0.0.1; }', /invalid network "proxy"/],
  ['geo $z { proxy_recursive; }', /invalid number of the geo parameters/],
  ['split_clients $remote_addr $w { 60% a; 60% b; }', /percent total is greater than 100%/],
]);
