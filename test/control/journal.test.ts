import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ConfigErrors } from '../../core/config/errors.js';
import type { Edit } from '../../core/contract/transactions.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { tempFolder } from '../harness/temp.js';
import { add, fakeMaster, find, members, remove, replace, restart } from './fake-master.js';

const CONFIG = 'http { upstream demo { zone demo 64k; server 10.0.0.1:80; server 10.0.0.2:80; } }';

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
  t.deepEqual(first.drift(edited), [
    'http / upstream demo',
    '+ server 10.0.0.3:80;',
    '- server 10.0.0.1:80;',
    '+ server 10.0.0.1:80 down;',
    '! http / upstream demo / server@1: replace "server 10.0.0.2:80 weight=5;"',
  ]);
  await first.transactions.reload(() => first.parse(edited));
  t.deepEqual(members(first), ['10.0.0.9:80@3', '10.0.0.1:80 down@0', '10.0.0.3:80@2']);
  t.true(first.log.lines.some((line) => line.startsWith('[warn]') && line.includes('10.0.0.2:80 weight=5')));
  t.deepEqual(members(await restart(t, first, edited, folder)), ['10.0.0.9:80@3', '10.0.0.1:80 down@0', '10.0.0.3:80@2']);
});

test('a removal is dropped with its upstream and named; a line that the operator took out as well is no drift any more', async (t) => {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  await master.transactions.apply(remove('10.0.0.1:80'));
  await master.transactions.apply(remove('10.0.0.2:80'));
  await master.transactions.reload(() => master.parse(CONFIG.replace('server 10.0.0.1:80;', '')));
  t.false(master.log.lines.some((line) => line.startsWith('[warn]')));
  await master.transactions.reload(() => master.parse(CONFIG.replace('demo {', 'other {')));
  t.deepEqual(
    master.log.lines.filter((line) => line.startsWith('[warn]')),
    [
      '[warn] dropped API change: its target is no longer in the configuration: ' +
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
  const edited = 'http { upstream demo { zone demo 64k; server 10.0.0.3:80; server 10.0.0.1:80; server 10.0.0.2:80; } }';
  await master.transactions.reload(() => master.parse(edited));
  t.deepEqual(members(master), ['10.0.0.3:80@2', '10.0.0.1:80@0', '10.0.0.2:80@1']);
  t.deepEqual(master.drift(edited), []);
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
  t.deepEqual(master.drift(CONFIG), []);
  await master.transactions.apply(add('server 10.0.0.1:80;'));
  t.deepEqual(master.drift(CONFIG), ['http / upstream demo', '+ server 10.0.0.1:80;']);
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.2:80 down;'));
  const lines = ['http / upstream demo', '- server 10.0.0.2:80;', '+ server 10.0.0.2:80 down;', '+ server 10.0.0.1:80;'];
  t.deepEqual(master.drift(CONFIG), lines);
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

test('equal lines are distinguished', async (t) => {
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

const addAllow =
  (text: string) =>
  (root: Block): Edit[] => [{ op: 'add', parent: find(root, 'location'), text }];
const last = (root: Block): Directive => [...(find(root, 'location').block ?? [])].at(-1) as Directive;

test('what was added again is still an addition after a restart', async (t) => {
  const config = 'http { vhost { server_name a.org; location / { allow x; } } }';
  const folder = tempFolder(t);
  let master = await fakeMaster(t, { config, folder });
  for (let round = 0; round < 3; round++) {
    const { transactions, store } = master;
    for (let cycle = 0; cycle < 5; cycle++) {
      await transactions.apply(addAllow('allow x;'));
      await transactions.apply(addAllow('allow x;'));
      await transactions.apply((root) => [{ op: 'remove', target: last(root) }]);
      await transactions.apply((root) => [{ op: 'remove', target: last(root) }]);
    }
    t.is(store.overlay.all().length, 0, 'what is gone leaves nothing');
    // Of two equal additions the first one goes: the other one keeps its number.
    await transactions.apply(addAllow('allow x;'));
    await transactions.apply(addAllow('allow x;'));
    await transactions.apply((root) => [{ op: 'remove', target: [...(find(root, 'location').block ?? [])][1] as Directive }]);
    t.true(transactions.isAddition(last(transactions.tree)));
    master = await restart(t, master, config, folder);
    const { transactions: now } = master;
    t.is(master.printed().match(/allow x/g)?.length, 2);
    t.true(now.isAddition(last(now.tree)));
    t.false(now.isAddition(find(now.tree, 'allow')));
    await now.apply((root) => [{ op: 'remove', target: last(root) }]);
    master = await restart(t, master, config, folder);
    t.is(master.printed().match(/allow x/g)?.length, 1);
    t.deepEqual(master.store.overlay.all(), []);
  }
});

test('what the API added and removed may come into the file', async (t) => {
  const folder = tempFolder(t);
  const config = 'http { vhost { server_name a.org; location / { allow y; } } }';
  const master = await fakeMaster(t, { config, folder });
  await master.transactions.apply(addAllow('allow x;'));
  await master.transactions.apply(addAllow('allow x;'));
  await master.transactions.apply((root) => [{ op: 'remove', target: [...(find(root, 'location').block ?? [])][1] as Directive }]);
  const edited = await restart(t, master, config.replace('allow y;', 'allow y; allow x;'), folder);
  t.is(edited.printed().match(/allow x/g)?.length, 2, 'that of the file, and the addition that is left');
});

const shop = (root: Block) =>
  [{ op: 'add', parent: find(root, 'http'), text: 'upstream shop { zone shop 64k; server 10.1.0.1:80; }' }] as const;
const noShop = (root: Block) => [{ op: 'remove', target: find(root, 'upstream', 'shop') }] as const;
const toShop = (root: Block) => [{ op: 'add', parent: find(root, 'upstream', 'shop'), text: 'server 10.1.0.2:80;' }] as const;

test('an upstream that was removed and came back is changed like any other, also after a restart', async (t) => {
  const folder = tempFolder(t);
  let master = await fakeMaster(t, { config: CONFIG, folder });
  for (const change of [shop, noShop, shop]) await master.transactions.apply(change);
  master = await restart(t, master, CONFIG, folder);
  t.true(master.transactions.isAddition(find(master.instance.tree.root, 'upstream', 'shop')));
  await master.transactions.apply(toShop);
  await master.transactions.apply((root) => [
    { op: 'replace', target: find(root, 'server', '10.1.0.1:80'), text: 'server 10.1.0.1:80 down;' },
  ]);
  const printed = master.printed();
  master = await restart(t, master, CONFIG, folder);
  t.is(master.printed(), printed);
  t.deepEqual(master.effective.dropped, []);
});

test('the same of one that the file has, and of one that the file had', async (t) => {
  const folder = tempFolder(t);
  const config = CONFIG.replace('http {', 'http { upstream shop { zone shop 64k; server 10.1.0.9:80; }');
  let master = await fakeMaster(t, { config, folder });
  for (const change of [noShop, shop, toShop]) await master.transactions.apply(change);
  const keys = (): (number | undefined)[] =>
    Array.from(find(master.instance.tree.root, 'upstream', 'shop').block?.named('server') ?? [], ({ key }) => key);
  t.is(new Set(keys()).size, 2);
  master = await restart(t, master, config, folder);
  await master.transactions.apply((root) => [
    { op: 'replace', target: find(root, 'server', '10.1.0.1:80'), text: 'server 10.1.0.1:80 down;' },
  ]);
  const printed = master.printed();
  master = await restart(t, master, config, folder);
  t.is(master.printed(), printed);
  // The operator has removed it as well.
  master = await restart(t, master, CONFIG, folder);
  t.true(master.transactions.isAddition(find(master.instance.tree.root, 'upstream', 'shop')));
  await master.transactions.apply((root) => [
    { op: 'replace', target: find(root, 'server', '10.1.0.2:80'), text: 'server 10.1.0.2:80 down;' },
  ]);
  const later = master.printed();
  t.is(new Set(keys()).size, 2);
  master = await restart(t, master, CONFIG, folder);
  t.is(master.printed(), later);
  t.deepEqual(
    master.drift(CONFIG).filter((line) => line.startsWith('- upstream')),
    [],
  );
});

test('what comes and goes leaves nothing in the journal', async (t) => {
  const { transactions, store } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  for (let n = 0; n < 5; n++) for (const change of [shop, toShop, noShop]) await transactions.apply(change);
  t.deepEqual(store.overlay.all(), []);
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

test('an upstream replaced as a whole keeps the keys of the members it keeps', async (t) => {
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

test('a parameter that is added in the file to a line that the API changed waits until the API takes its change back', async (t) => {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 weight=5;'));
  const edited = CONFIG.replace('10.0.0.1:80', '10.0.0.1:80 max_conns=7');
  await master.transactions.reload(() => master.parse(edited));
  t.is(members(master)[0], '10.0.0.1:80 weight=5@0');
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 max_conns=7;'));
  t.deepEqual(master.drift(edited), []);
  await master.transactions.reload(() => master.parse(edited.replace('max_conns=7', 'max_conns=8')));
  t.is(members(master)[0], '10.0.0.1:80 max_conns=8@0');
});

const second = (root: Block): Edit[] => {
  const target = Array.from(find(root, 'upstream').block?.named('server') ?? [])[1];
  return target ? [{ op: 'replace', target, text: 'server 10.0.0.1:80 weight=5;' }] : [];
};

test('of two equal lines the first stays the first', async (t) => {
  const folder = tempFolder(t);
  const config = CONFIG.replace('10.0.0.2', '10.0.0.1');
  const master = await fakeMaster(t, { config, folder });
  await master.transactions.apply(second);
  t.deepEqual(members(await restart(t, master, config, folder)), ['10.0.0.1:80@0', '10.0.0.1:80 weight=5@1']);
});

const inDemo = (root: Block): Directive => find(root, 'upstream', 'demo');

test('without the store everything is as the files say, and ids begin again', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.7:80;\n' });
  const config = CONFIG.replace('http {', 'http { upstream kept { zone kept 64k; state demo.state; }');
  const master = await fakeMaster(t, { config, folder });
  await master.transactions.apply((root) => [{ op: 'remove', target: find(root, 'server', '10.0.0.1:80') }]);
  await master.transactions.apply((root) => [{ op: 'add', parent: inDemo(root), text: 'server 10.0.0.3:80;' }]);
  await master.transactions.apply((root) => [{ op: 'remove', target: find(root, 'server', '10.0.0.7:80') }]);
  await master.transactions.apply(add('server 10.0.0.8:80;'));
  await master.end();
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `srv.db${end}`), { force: true });
  const again = await restart(t, master, config, folder);
  t.deepEqual(members(again), ['10.0.0.8:80@0']);
  const demo = Array.from(inDemo(again.instance.tree.root).block?.named('server') ?? [], ({ args, key }) => `${args[0]?.text}@${key}`);
  t.deepEqual(demo, ['10.0.0.1:80@0', '10.0.0.2:80@1']);
});
