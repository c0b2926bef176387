import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ConfigErrors } from '../../core/config/errors.js';
import type { Edit } from '../../core/module/services.js';
import type { Block } from '../../core/module/tree.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { fakeMaster, find, type FakeMaster } from './fake-master.js';

const CONFIG = 'http { upstream demo { zone demo 64k; server 10.0.0.1:80; server 10.0.0.2:80; } }';

/** Members of the first group as `address@key`, in order. */
function members({ instance }: FakeMaster): string[] {
  return Array.from(
    find(instance.tree.root, 'upstream').block?.named('server') ?? [],
    ({ args, key }) => `${args.map((word) => word.text).join(' ')}@${key}`,
  );
}

/** Restarts the master on the same data, after a kill. */
async function restart(t: ExecutionContext, master: FakeMaster, config: string, folder: string): Promise<FakeMaster> {
  master.kill();
  return fakeMaster(t, { config, folder });
}

const add =
  (text: string) =>
  (root: Block): Edit[] => [{ op: 'add', parent: find(root, 'upstream'), text }];
const replace =
  (address: string, text: string) =>
  (root: Block): Edit[] => [{ op: 'replace', target: find(root, 'server', address), text }];
const remove =
  (address: string) =>
  (root: Block): Edit[] => [{ op: 'remove', target: find(root, 'server', address) }];

test('changes survive a kill: additions, replacements, removals, with their keys', async (t) => {
  const folder = tempFolder(t);
  const first = await fakeMaster(t, { config: CONFIG, folder });
  await first.transactions.apply(add('server 10.0.0.3:80;'));
  await first.transactions.apply(add('server 10.0.0.4:80;'));
  await first.transactions.apply(replace('10.0.0.3:80', 'server 10.0.0.3:80 down;'));
  await first.transactions.apply(replace('10.0.0.1:80', 'server 10.0.9.9:80;'));
  await first.transactions.apply(remove('10.0.0.2:80'));
  const expected = ['10.0.9.9:80@0', '10.0.0.3:80 down@2', '10.0.0.4:80@3'];
  t.deepEqual(members(first), expected);
  const second = await restart(t, first, CONFIG, folder);
  t.deepEqual(members(second), expected);
  t.true(second.transactions.version > first.transactions.version);
  t.deepEqual(members(await restart(t, second, CONFIG, folder)), expected);
});

test('keys are not used again, also after everything is removed and the server restarted', async (t) => {
  const folder = tempFolder(t);
  const first = await fakeMaster(t, { config: CONFIG, folder });
  await first.transactions.apply(add('server 10.0.0.3:80;'));
  await first.transactions.apply(remove('10.0.0.3:80'));
  const second = await restart(t, first, CONFIG, folder);
  await second.transactions.apply(add('server 10.0.0.3:80;'));
  t.deepEqual(members(second), ['10.0.0.1:80@0', '10.0.0.2:80@1', '10.0.0.3:80@3']);
});

test('the journal is one row an address: what was added and removed again leaves none', async (t) => {
  const { transactions, store } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  for (let n = 0; n < 10; n++) {
    await transactions.apply(add('server 10.0.0.3:80;'));
    for (let weight = 1; weight < 5; weight++) await transactions.apply(replace('10.0.0.3:80', `server 10.0.0.3:80 weight=${weight};`));
    await transactions.apply(remove('10.0.0.3:80'));
  }
  t.is(store.overlay.all().length, 0);
  await transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 down;'));
  t.is(store.overlay.all().length, 1);
  await transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80;'));
  t.is(store.overlay.all().length, 0);
  t.is(store.history.last(100).length, 62);
});

test('the file may change under the journal: API changes stay on top, what has no place any more is dropped and named', async (t) => {
  const folder = tempFolder(t);
  const first = await fakeMaster(t, { config: CONFIG, folder });
  await first.transactions.apply(add('server 10.0.0.3:80;'));
  await first.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 down;'));
  await first.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.2:80 weight=5;'));
  const edited = 'http { upstream demo { zone demo 64k; server 10.0.0.9:80; server 10.0.0.1:80; } }';
  await first.transactions.reload(() => first.parse(edited));
  t.deepEqual(members(first), ['10.0.0.9:80@3', '10.0.0.1:80 down@0', '10.0.0.3:80@2']);
  t.true(first.log.lines.some((line) => line.startsWith('[warn]') && line.includes('10.0.0.2:80 weight=5')));
  t.deepEqual(first.transactions.drift(), [
    'http / upstream demo',
    '+ server 10.0.0.3:80;',
    '- server 10.0.0.1:80;',
    '+ server 10.0.0.1:80 down;',
    '! http / upstream demo / server@1: replace "server 10.0.0.2:80 weight=5;"',
  ]);
  t.deepEqual(members(await restart(t, first, edited, folder)), ['10.0.0.9:80@3', '10.0.0.1:80 down@0', '10.0.0.3:80@2']);
});

test('a removal is dropped with its group and named; a line that the operator took out as well is no drift any more', async (t) => {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  await master.transactions.apply(remove('10.0.0.1:80'));
  await master.transactions.apply(remove('10.0.0.2:80'));
  await master.transactions.reload(() => master.parse(CONFIG.replace('server 10.0.0.1:80;', '')));
  t.false(master.log.lines.some((line) => line.startsWith('[warn]')));
  await master.transactions.reload(() => master.parse(CONFIG.replace('demo {', 'other {')));
  t.deepEqual(
    master.log.lines.filter((line) => line.startsWith('[warn]')),
    [
      '[warn] a change made by API was dropped, the configuration has no place for it any more: ' +
        'http / upstream demo / server@1: remove "server 10.0.0.2:80;"',
    ],
  );
  await master.transactions.reload(() => master.parse(CONFIG));
  t.deepEqual(members(master), ['10.0.0.1:80@2', '10.0.0.2:80@1']);
});

test('an addition that the operator wrote into the file keeps its key and is no drift any more', async (t) => {
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config: CONFIG, folder });
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  await master.transactions.reload(() =>
    master.parse('http { upstream demo { zone demo 64k; server 10.0.0.3:80; server 10.0.0.1:80; server 10.0.0.2:80; } }'),
  );
  t.deepEqual(members(master), ['10.0.0.3:80@2', '10.0.0.1:80@0', '10.0.0.2:80@1']);
  t.deepEqual(master.transactions.drift(), []);
  t.is(master.store.overlay.all().length, 0);
});

test('a member that is removed by the API and comes back by the API is another one', async (t) => {
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config: CONFIG, folder });
  await master.transactions.apply(remove('10.0.0.1:80'));
  await master.transactions.apply(add('server 10.0.0.1:80;'));
  t.deepEqual(members(master), ['10.0.0.2:80@1', '10.0.0.1:80@2']);
  await master.transactions.reload(() => master.parse(CONFIG));
  t.deepEqual(members(master), ['10.0.0.2:80@1', '10.0.0.1:80@2']);
  t.deepEqual(members(await restart(t, master, CONFIG, folder)), ['10.0.0.2:80@1', '10.0.0.1:80@2']);
});

test('what is removed and added again as the file has it is no drift', async (t) => {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  await master.transactions.apply(remove('10.0.0.1:80'));
  await master.transactions.apply(remove('10.0.0.2:80'));
  await master.transactions.apply(add('server 10.0.0.1:80;'));
  await master.transactions.apply(add('server 10.0.0.2:80;'));
  t.deepEqual(master.transactions.drift(), []);
  await master.transactions.apply(add('server 10.0.0.1:80;'));
  t.deepEqual(master.transactions.drift(), ['http / upstream demo', '+ server 10.0.0.1:80;']);
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.2:80 down;'));
  const lines = ['http / upstream demo', '- server 10.0.0.2:80;', '+ server 10.0.0.2:80 down;', '+ server 10.0.0.1:80;'];
  t.deepEqual(master.transactions.drift(), lines);
});

test('a reload that fails changes nothing', async (t) => {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const before = master.printed();
  await t.throwsAsync(
    master.transactions.reload(() => master.parse('http { upstream demo { sever 10.0.0.1:80; } }')),
    { instanceOf: ConfigErrors },
  );
  t.is(master.printed(), before);
  t.deepEqual(
    master.workers.map((worker) => worker.committed),
    [[], []],
  );
});

test('a reload of the same file changes nothing; the workers are asked all the same, as files it names may be others', async (t) => {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const { version } = master.transactions;
  await master.transactions.reload(() => master.parse(CONFIG));
  t.is(master.transactions.version, version);
  t.deepEqual(
    master.workers.map((worker) => worker.committed),
    [[1], [1]],
  );
});

const withMore = (extra: string): string => `http { upstream a { zone a 64k; server 10.0.0.1:80; } ${extra} }`;

test('what a reload leaves alone keeps its directive object', async (t) => {
  const master = await fakeMaster(t, { config: withMore(''), folder: tempFolder(t) });
  const before = find(master.instance.tree.root, 'upstream', 'a');
  await master.transactions.reload(() => master.parse(withMore('upstream b { zone b 64k; server 10.0.0.2:80; }')));
  t.is(find(master.instance.tree.root, 'upstream', 'a'), before);
  t.is(find(master.workers[0]?.tree.root ?? master.instance.tree.root, 'upstream', 'b').block?.size, 2);
});

const VHOST = 'http { vhost { server_name a.org; location / { allow 10.0.0.1; allow 10.0.0.2; status 200; } } }';

test('whole blocks, single settings and list entries are journalled as well', async (t) => {
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config: VHOST, folder });
  const { transactions } = master;
  await transactions.apply((root) => [{ op: 'add', parent: find(root, 'vhost'), text: 'location /api { status 204; allow all; }' }]);
  await transactions.apply((root) => [{ op: 'add', parent: find(root, 'location', '/api'), text: 'gzip on;' }]);
  await transactions.apply((root) => [{ op: 'replace', target: find(root, 'status', '200'), text: 'status 404;' }]);
  await transactions.apply((root) => [
    { op: 'remove', target: find(root, 'allow', '10.0.0.1') },
    { op: 'remove', target: find(root, 'allow', '10.0.0.2') },
    { op: 'add', parent: find(root, 'location', '/'), text: 'allow 10.0.0.2;' },
    { op: 'add', parent: find(root, 'location', '/'), text: 'allow 10.0.0.9;' },
  ]);
  const expected = master.printed();
  const again = await restart(t, master, VHOST, folder);
  t.is(again.printed(), expected);
  await again.transactions.apply((root) => [{ op: 'remove', target: find(root, 'allow', '10.0.0.9') }]);
  await again.transactions.apply((root) => [{ op: 'add', parent: find(root, 'location', '/'), text: 'allow 10.0.0.9;' }]);
  await again.transactions.apply((root) => [{ op: 'remove', target: find(root, 'location', '/api') }]);
  const now = again.printed();
  t.is((await restart(t, again, VHOST, folder)).printed(), now);
});

const one = (root: Block): Edit[] => [{ op: 'remove', target: find(root, 'allow') }];

test('equal lines are told apart', async (t) => {
  const config = 'http { vhost { server_name a.org; location / { allow x; allow x; allow x; } } }';
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config, folder });
  await master.transactions.apply(one);
  await master.transactions.apply(one);
  t.is(master.printed().match(/allow x/g)?.length, 1);
  const again = await restart(t, master, config, folder);
  t.is(again.printed().match(/allow x/g)?.length, 1);
  await again.transactions.apply((root) => [
    { op: 'add', parent: find(root, 'location'), text: 'allow x;' },
    { op: 'add', parent: find(root, 'location'), text: 'allow x;' },
  ]);
  t.is((await restart(t, again, config, folder)).printed().match(/allow x/g)?.length, 3);
});

test('a block that is called something else afterwards is journalled as a whole', async (t) => {
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config: VHOST, folder });
  await master.transactions.apply((root) => [{ op: 'add', parent: find(root, 'vhost'), text: 'server_name b.org;' }]);
  await master.transactions.apply((root) => [{ op: 'add', parent: find(root, 'location'), text: 'gzip on;' }]);
  const again = await restart(t, master, VHOST, folder);
  t.is(again.printed().match(/server_name b.org/g)?.length, 1);
  t.is(again.printed().match(/gzip on/g)?.length, 1);
  t.is(again.printed().match(/vhost/g)?.length, 1);
});

test('a group replaced as a whole keeps the keys of the members it keeps', async (t) => {
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config: CONFIG, folder });
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  const text = 'upstream demo { zone demo 64k; keepalive 4; server 10.0.0.3:80; server 10.0.0.2:80; server 10.0.0.5:80; }';
  await master.transactions.apply((root) => [{ op: 'replace', target: find(root, 'upstream'), text }]);
  const expected = ['10.0.0.3:80@2', '10.0.0.2:80@1', '10.0.0.5:80@3'];
  t.deepEqual(members(master), expected);
  const again = await restart(t, master, CONFIG, folder);
  t.deepEqual(members(again), expected);
  await again.transactions.apply(add('server 10.0.0.6:80;'));
  t.is(members(again).at(-1), '10.0.0.6:80@4');
});

const WITH_STATE = 'http { upstream demo { zone demo 64k; state demo.state; } }';

test('members of a state file have lasting keys, and changes to them survive a kill at every point', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.7:80;'));
  await master.transactions.apply(remove('10.0.0.2:80'));
  const expected = ['10.0.0.7:80@0', '10.0.0.3:80@2'];
  // Killed before the file was written.
  const second = await restart(t, master, WITH_STATE, folder);
  t.deepEqual(members(second), expected);
  await second.transactions.apply(add('server 10.0.0.4:80;'));
  await second.transactions.apply(remove('10.0.0.4:80'));
  await second.transactions.apply(add('server 10.0.0.5:80;'));
  await second.transactions.close();
  t.is(readFileSync(join(folder, 'demo.state'), 'utf8'), 'server 10.0.0.7:80;\nserver 10.0.0.3:80;\nserver 10.0.0.5:80;\n');
  t.is(second.store.overlay.all().length, 0);
  const third = await restart(t, second, WITH_STATE, folder);
  t.deepEqual(members(third), [...expected, '10.0.0.5:80@4']);
  t.deepEqual(third.transactions.drift(), []);
});

test('a kill between writing the state file and forgetting the journal changes nothing', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.7:80 weight=2;'));
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  await master.transactions.apply(remove('10.0.0.2:80'));
  const rows = master.store.overlay.all();
  await master.transactions.close();
  // As if it had been killed there: the rows are still in the journal.
  master.store.transaction(() => rows.forEach((row) => master.store.overlay.put(row)));
  t.deepEqual(members(await restart(t, master, WITH_STATE, folder)), ['10.0.0.7:80 weight=2@0', '10.0.0.3:80@2']);
});

test('a member removed while its state file is being written does not come back', async (t) => {
  const folder = tempFolder(t, { 'demo.state': '' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  // What the writer does, up to the moment of the removal.
  master.store.keys.put('"http","upstream demo"', { identity: 'server 10.0.0.3:80', occurrence: 0, key: 0 });
  writeFileSync(join(folder, 'demo.state'), 'server 10.0.0.3:80;\n');
  await master.transactions.apply(remove('10.0.0.3:80'));
  t.deepEqual(members(await restart(t, master, WITH_STATE, folder)), []);
});

test('a state file that fell behind catches up at the next start, and what a kill left beside it goes away', async (t) => {
  const folder = tempFolder(t, { 'demo.state': '# mine\nserver 10.0.0.1:80;\n' });
  const file = (): string => readFileSync(join(folder, 'demo.state'), 'utf8');
  const killed = await fakeMaster(t, { config: WITH_STATE, folder });
  await killed.transactions.apply(add('server 10.0.0.3:80;'));
  const master = await restart(t, killed, WITH_STATE, folder);
  await waitFor('the file', () => file() === 'server 10.0.0.1:80;\nserver 10.0.0.3:80;\n');
  await waitFor('the journal', () => master.store.overlay.all().length === 0);
  // By hand: as it is, until something changes.
  writeFileSync(join(folder, 'demo.state'), '# mine\nserver 10.0.0.1:80;\n');
  writeFileSync(join(folder, 'demo.state.new'), 'server 10');
  await restart(t, master, WITH_STATE, folder);
  await waitFor('the end of the left-over', () => !existsSync(join(folder, 'demo.state.new')));
  t.is(file(), '# mine\nserver 10.0.0.1:80;\n');
});

test('a state file that cannot be written is tried again: one line for the failure, one for its end', async (t) => {
  const folder = tempFolder(t, { 'demo.state': '' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  const { transactions, log } = master;
  mkdirSync(join(folder, 'demo.state.new'));
  await transactions.apply(add('server 10.0.0.3:80;'));
  await waitFor('the failure', () => log.lines.length > 0);
  await transactions.reload(() => master.parse(WITH_STATE));
  rmdirSync(join(folder, 'demo.state.new'));
  await waitFor('the file', () => readFileSync(join(folder, 'demo.state'), 'utf8') === 'server 10.0.0.3:80;\n');
  await waitFor('the end', () => log.lines.length > 1);
  t.regex(log.lines[0] ?? '', /^\[error\].* could not be written/);
  t.regex(log.lines[1] ?? '', /^\[notice\].* is written again/);
});

test('what an operator writes into a state file while a change is on its way to it is not lost', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\n' });
  const path = join(folder, 'demo.state');
  const file = (): string => readFileSync(path, 'utf8');
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  const { transactions, log } = master;
  await transactions.apply(add('server 10.0.0.2:80;'));
  appendFileSync(path, 'server 10.0.0.3:80;\n');
  await waitFor('the warning', () => log.lines.length > 0);
  t.regex(log.lines[0] ?? '', /^\[warn\] state file ".*demo\.state" was edited: it is not written before the next reload/);
  await transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 weight=5;'));
  await transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80 weight=5@0', '10.0.0.3:80@2', '10.0.0.2:80@1']);
  const joined = 'server 10.0.0.1:80 weight=5;\nserver 10.0.0.3:80;\nserver 10.0.0.2:80;\n';
  await waitFor('the file', () => file() === joined);
  t.deepEqual(log.lines.slice(1), []);

  // At once: the reload itself finds the edit.
  await transactions.apply(remove('10.0.0.3:80'));
  appendFileSync(path, 'server 10.0.0.4:80;\n');
  await transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80 weight=5@0', '10.0.0.2:80@1', '10.0.0.4:80@3']);
  await waitFor('the file', () => !file().includes('10.0.0.3'));

  // A reload that fails leaves the edit to the next one, as does the end.
  await transactions.apply(remove('10.0.0.2:80'));
  appendFileSync(path, 'server 10.0.0.5:80;\n');
  await t.throwsAsync(transactions.reload(() => master.parse('nonsense;')));
  await transactions.close();
  const next = await restart(t, master, WITH_STATE, folder);
  t.deepEqual(members(next), ['10.0.0.1:80 weight=5@0', '10.0.0.4:80@3', '10.0.0.5:80@4']);
});

test('a state file that somebody removed is written again with the next change', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\n' });
  const path = join(folder, 'demo.state');
  const { transactions } = await fakeMaster(t, { config: WITH_STATE, folder });
  rmSync(path);
  await transactions.apply(add('server 10.0.0.2:80;'));
  await transactions.close();
  t.is(readFileSync(path, 'utf8'), 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n');
});

test('server lines beside a state file and strange lines in it are refused, all of them', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80 weight=0;\nzone x;\n' });
  const error = await t.throwsAsync(fakeMaster(t, { config: WITH_STATE, folder }), { instanceOf: ConfigErrors });
  t.true(error.errors.length >= 2);
  t.true(error.errors.every(({ source }) => source?.file.endsWith('demo.state')));
  const both = 'http { upstream demo { zone demo 64k; state demo.state; server 10.0.0.1:80; } }';
  t.regex((await t.throwsAsync(fakeMaster(t, { config: both, folder: tempFolder(t) }))).message, /not allowed together with "state"/);
});
