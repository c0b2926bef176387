import { rmSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { nodeConf, sharedNode, startNode, type Node } from './node.js';
import { stateLines } from './state-lines.js';

/** Lines that `-T` prints of the difference between the file and the current configuration in an upstream. */
async function driftOf(t: ExecutionContext, { srv }: Node, upstream: string): Promise<string[]> {
  const { stdout } = await check(t, undefined, {}, { args: ['-T'], prefix: srv.prefix });
  const lines = stdout.split('\n').filter((line) => line !== '');
  const start = lines.indexOf(`# http / upstream ${upstream}`);
  if (start < 0) return [];
  const end = lines.findIndex((line, at) => at > start && line.startsWith('# http / '));
  return lines.slice(start, end < 0 ? undefined : end);
}

const upstream = (name: string, servers: string): string => `upstream ${name} { zone ${name} 256k; ${servers} }`;
const config = (servers: string): string => nodeConf({ http: upstream('demo', servers) });

/** The upstreams of the tests that change the file and reload, one for each. */
const FILE: Readonly<Record<string, string>> = {
  rejected: upstream('rejected', 'server 127.0.0.1:1; server 127.0.0.1:2;'),
  zoneless: upstream('zoneless', 'server 127.0.0.1:1;'),
  forms: upstream('forms', 'server 127.0.0.1:80; server 127.0.0.2:80; server [::1]:80;'),
  readdressed: upstream('readdressed', 'server 127.0.0.1:3000; server 127.0.0.2:3000;'),
  removed: upstream('removed', 'server 127.0.0.1:1; server 127.0.0.2:1;'),
};
const OWN_SERVER = 'return 204;';
const shared = sharedNode({ http: Object.values(FILE).join('\n'), server: OWN_SERVER });

/** Writes the file with another text for some of the upstreams. */
function edit({ srv }: Node, changed: Readonly<Record<string, string>>): Promise<void> {
  return srv.configure(nodeConf({ http: Object.values({ ...FILE, ...changed }).join('\n'), server: OWN_SERVER }));
}

/** Reloads the file; resolves with what was logged meanwhile. */
async function reload({ srv }: Node, until = /reconfigured/): Promise<string> {
  const before = srv.log().length;
  srv.signal('SIGHUP');
  return waitFor('the reload', () => until.test(srv.log().slice(before)) && srv.log().slice(before));
}

async function versions(node: Node): Promise<unknown[]> {
  const paths = ['/demo', '/demo/servers/', '/demo/servers/0', '/demo/servers/2'];
  return Promise.all(paths.map(async (path) => (await node.upstreams('GET', path)).headers['etag']));
}

test('changes, ids and versions survive a reload, a change of the file, a restart and kill -9', async (t) => {
  const node = await startNode(t, {
    http: 'upstream demo { zone demo 256k; server 127.0.0.1:1; server 127.0.0.1:2; }',
    allowCrashes: true,
  });
  await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:3' });
  await node.upstreams('PATCH', '/demo/servers/0', { weight: 9 });
  await node.upstreams('DELETE', '/demo/servers/1');
  const expected = ['0 127.0.0.1:1', '2 127.0.0.1:3'];
  t.deepEqual(await node.list(), expected);

  await node.srv.configure(config('server 127.0.0.1:9; server 127.0.0.1:1; server 127.0.0.1:2;'));
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  const reloaded = ['3 127.0.0.1:9', '0 127.0.0.1:1', '2 127.0.0.1:3'];
  t.deepEqual(await node.list(), reloaded);
  t.is((await node.members()).find(({ id }) => id === 0)?.['weight'], 9);

  const before = await versions(node);
  t.is(new Set(before).size, 3);
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, {
    prefix: node.srv.prefix,
    http: 'upstream demo { zone demo 256k; server 127.0.0.1:9; server 127.0.0.1:1; server 127.0.0.1:2; }',
  });
  t.deepEqual(await again.list(), reloaded);
  t.is((await again.members()).find(({ id }) => id === 0)?.['weight'], 9);
  // If-Match goes by the state of the resource, not by when it was read.
  t.deepEqual(await versions(again), before);
  const ifMatch = { 'if-match': String(before[2]) };
  t.is((await again.upstreams('PATCH', '/demo/servers/0', { weight: 8 }, ifMatch)).status, 200);
  t.is((await again.upstreams('PATCH', '/demo/servers/0', { weight: 7 }, ifMatch)).status, 412);
});

test.serial('a reload that fails leaves everything as it was', async (t) => {
  const node = await shared();
  await node.upstreams('POST', '/rejected/servers/', { server: '127.0.0.1:3' });
  const before = await node.list('rejected');
  await edit(node, { rejected: `${upstream('rejected', 'server 127.0.0.1:1; sever 1;')} nonsense;` });
  t.regex(await reload(node, /stays as it was/), /unknown directive "sever"[^]*unknown directive "nonsense"/);
  t.deepEqual(await node.list('rejected'), before);
  t.is((await node.upstreams('POST', '/rejected/servers/', { server: '127.0.0.1:4' })).status, 201);
});

/** The lines of the state file without comments. */
const linesOf = ({ srv }: Node): string[] => stateLines(srv.read('demo.state'));

test('members of a state file are read, written back, and keep their ids', async (t) => {
  const http = 'upstream demo { zone demo 256k; state demo.state; }';
  const node = await startNode(t, { http, files: { 'demo.state': 'server 127.0.0.1:1;\nserver 127.0.0.1:2;\n' } });
  t.deepEqual(await node.list(), ['0 127.0.0.1:1', '1 127.0.0.1:2']);
  await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:3', weight: 2 });
  await node.upstreams('DELETE', '/demo/servers/0');
  await waitFor('the state file', () => linesOf(node).join('') === 'server 127.0.0.1:2;server 127.0.0.1:3 weight=2;');
  await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:4' });
  await node.srv.stop();
  t.deepEqual(linesOf(node), ['server 127.0.0.1:2;', 'server 127.0.0.1:3 weight=2;', 'server 127.0.0.1:4;']);
  // An operator's edit while the server is stopped counts.
  writeInto(node.srv.prefix, 'demo.state', 'server 127.0.0.1:3 weight=2;\nserver 127.0.0.1:5;\n');
  const again = await startNode(t, { http, prefix: node.srv.prefix });
  t.deepEqual(await again.list(), ['2 127.0.0.1:3', '4 127.0.0.1:5']);
});

test('a state file that went missing is reported at a reload, a test and a start', async (t) => {
  const http = 'upstream demo { zone demo 256k; state demo.state; }';
  const node = await startNode(t, { http });
  const missing =
    /\[warn\].* "state" file ".*\/demo\.state" is missing: http \/ upstream demo has none of the "server" lines that it held/g;
  // At the beginning there is none.
  t.notRegex(node.srv.log(), missing);
  await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:1' });
  await waitFor('the state file', () => linesOf(node).join('') === 'server 127.0.0.1:1;');
  rmSync(node.srv.path('demo.state'));
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  t.is(node.srv.log().match(missing)?.length, 1);
  t.deepEqual(await node.list(), []);
  const { stderr } = await check(t, undefined, {}, { prefix: node.srv.prefix });
  t.is(stderr.match(/is missing/g)?.length, 1);
  await node.srv.stop();
  writeInto(node.srv.prefix, 'logs/error.log', '');
  const again = await startNode(t, { http, prefix: node.srv.prefix });
  t.is(again.srv.log().match(missing)?.length, 1);
  // Its members are back with the file, under the ids that they had.
  writeInto(node.srv.prefix, 'demo.state', 'server 127.0.0.1:1;\n');
  again.srv.signal('SIGHUP');
  await again.srv.waitForLog(/reconfigured/);
  t.deepEqual(await again.list(), ['0 127.0.0.1:1']);
});

test.serial('changes in an upstream that has no zone any more stay, and the log says how to take them back', async (t) => {
  const node = await shared();
  await node.upstreams('PATCH', '/zoneless/servers/0', { weight: 5 });
  await edit(node, { zoneless: 'upstream zoneless { server 127.0.0.1:1; }' });
  t.regex(await reload(node), /\[warn\].* http \/ upstream zoneless has no zone any more, and API changes in it stay active/);
  t.is(errorOf(await node.upstreams('GET', '/zoneless/servers/0')).code, 'UpstreamStatic');
  await edit(node, { zoneless: 'upstream zoneless { server 127.0.0.1:1 weight=5; }' });
  t.deepEqual(await driftOf(t, node, 'zoneless'), []);
  t.notRegex((await check(t, undefined, {}, { prefix: node.srv.prefix })).stderr, /no zone any more/);
});

test.serial('a member stays who it is when the file names its address in another form', async (t) => {
  const node = await shared();
  await node.upstreams('PATCH', '/forms/servers/0', { weight: 5 });
  await node.upstreams('DELETE', '/forms/servers/1');
  await node.upstreams('POST', '/forms/servers/', { server: '127.0.0.9' });
  const before = await node.members('forms');
  await edit(node, { forms: upstream('forms', 'server 127.0.0.1; server 127.0.0.2; server [0:0::1]; server 127.0.0.9;') });
  t.notRegex(await reload(node), /dropped/);
  t.deepEqual(await node.members('forms'), before);
  const drift = ['# http / upstream forms', '# - server 127.0.0.1;', '# + server 127.0.0.1:80 weight=5;', '# - server 127.0.0.2;'];
  t.deepEqual(await driftOf(t, node, 'forms'), drift);
});

test.serial('a member with another address keeps its id when the operator writes that into the file', async (t) => {
  const node = await shared();
  await node.upstreams('PATCH', '/readdressed/servers/0', { server: '127.0.0.5:3000' });
  const before = await node.members('readdressed');
  await edit(node, { readdressed: upstream('readdressed', 'server 127.0.0.5:3000; server 127.0.0.2:3000;') });
  t.notRegex(await reload(node), /dropped/);
  t.deepEqual(await node.members('readdressed'), before);
  t.deepEqual(await driftOf(t, node, 'readdressed'), []);
});

test.serial('the line of a removed member is shown as the file has it now', async (t) => {
  const node = await shared();
  await node.upstreams('DELETE', '/removed/servers/1');
  await edit(node, { removed: upstream('removed', 'server 127.0.0.1:1; server 127.0.0.2:1 weight=9;') });
  const drift = ['# http / upstream removed', '# - server 127.0.0.2:1 weight=9;'];
  t.deepEqual(await driftOf(t, node, 'removed'), drift);
  await reload(node);
  t.deepEqual(await driftOf(t, node, 'removed'), drift);
  t.deepEqual(await node.list('removed'), ['0 127.0.0.1:1']);
});

test('a state file that could not keep its members is rejected', async (t) => {
  const checked = async (groups: string): Promise<string> => (await check(t, config(groups).replaceAll(/helper [^;]*;/g, ''))).stderr;
  const twice = await checked('state demo.state; } upstream other { zone other 64k; state ./demo.state;');
  t.regex(twice, /"state" file "[^"]*\/demo\.state" is used twice in .*srv\.conf[^]*the other one is in .*srv\.conf/);
  t.regex(
    await checked('state nowhere/demo.state;'),
    /cannot be written: no such directory in .*srv\.conf[^]*create the directory .*\/nowhere/,
  );
  // A start makes the data folder itself.
  t.regex(await checked('state data/demo.state;'), /test is successful/);
});
