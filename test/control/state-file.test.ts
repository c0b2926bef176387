import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { ConfigErrors } from '../../core/config/errors.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import type { Edit } from '../../core/contract/transactions.js';
import type { Block } from '../../core/contract/tree.js';
import { add, fakeMaster, type FakeMaster, find, members, remove, replace, restart } from './fake-master.js';
import { stateLines } from './state-lines.js';

/** The lines of the state file without comments. */
const linesOf = (folder: string): string[] => stateLines(readFileSync(join(folder, 'demo.state'), 'utf8'));

/** Address of the block. */
const DEMO = '"http","upstream demo"';
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
  t.deepEqual(linesOf(folder), ['server 10.0.0.7:80;', 'server 10.0.0.3:80;', 'server 10.0.0.5:80;']);
  t.is(second.store.overlay.all().length, 0);
  const third = await restart(t, second, WITH_STATE, folder);
  t.deepEqual(members(third), [...expected, '10.0.0.5:80@4']);
  t.deepEqual(third.drift(WITH_STATE), []);
});

const addresses = (master: FakeMaster): string[] => members(master).map((member) => member.split('@')[0] ?? '');

/** Adds a member in front of another one. */
const addBefore =
  (address: string, text: string) =>
  (root: Block): Edit[] => [{ op: 'add', parent: find(root, 'upstream'), text, before: find(root, 'server', address) }];

test('a line of a state file can be put in front of another one, and is there after a restart, often at one place', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  const expected = ['10.0.0.1:80', '10.0.0.2:80'];
  // More often than a fraction has bits.
  for (let n = 10; n < 80; n++) {
    await master.transactions.apply(addBefore(expected[1] ?? '', `server 10.0.0.${n}:80;`));
    expected.splice(1, 0, `10.0.0.${n}:80`);
  }
  await master.transactions.apply(addBefore('10.0.0.1:80', 'server 10.0.0.3:80;'));
  await master.transactions.apply(add('server 10.0.0.4:80;'));
  expected.unshift('10.0.0.3:80');
  expected.push('10.0.0.4:80');
  t.deepEqual(addresses(master), expected);
  const killed = await restart(t, master, WITH_STATE, folder);
  t.deepEqual(addresses(killed), expected);
  await killed.transactions.close();
  t.deepEqual(
    linesOf(folder),
    expected.map((address) => `server ${address};`),
  );
  const again = await restart(t, killed, WITH_STATE, folder);
  t.deepEqual(addresses(again), expected);
  t.deepEqual(members(again), members(master));
});

test('a line that the API put in front of another one is there when the file was edited meanwhile', async (t) => {
  const folder = tempFolder(t, { 'demo.state': '' });
  const file = join(folder, 'demo.state');
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  for (const n of [1, 2, 3]) await master.transactions.apply(add(`server 10.0.0.${n}:80;`));
  await waitFor('the file', () => linesOf(folder).length === 3);
  const before = readFileSync(file, 'utf8');
  await master.transactions.apply(addBefore('10.0.0.2:80', 'server 10.0.0.7:80;'));
  await master.transactions.apply(addBefore('10.0.0.2:80', 'server 10.0.0.8:80;'));
  await master.transactions.apply(add('server 10.0.0.9:80;'));
  await waitFor('the file', () => linesOf(folder).length === 6);
  master.kill();
  writeFileSync(file, before.replace('server 10.0.0.1:80;', 'server 10.0.0.1:80 weight=5;'));
  const second = await fakeMaster(t, { config: WITH_STATE, folder });
  t.deepEqual(members(second), [
    '10.0.0.1:80 weight=5@0',
    '10.0.0.7:80@3',
    '10.0.0.8:80@4',
    '10.0.0.2:80@1',
    '10.0.0.3:80@2',
    '10.0.0.9:80@5',
  ]);
});

test('a member removed while its state file is being written does not come back', async (t) => {
  const folder = tempFolder(t, { 'demo.state': '' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  while (!existsSync(join(folder, 'demo.state.new'))) await turn();
  await master.transactions.apply(remove('10.0.0.3:80'));
  while (linesOf(folder).length === 0) await turn();
  const second = await restart(t, master, WITH_STATE, folder);
  t.deepEqual(members(second), []);
  await waitFor('the file', () => linesOf(folder).length === 0);
});

test('a state file that fell behind catches up at the next start, and what a kill left beside it goes away', async (t) => {
  const folder = tempFolder(t, { 'demo.state': '# mine\nserver 10.0.0.1:80;\n' });
  const file = (): string => readFileSync(join(folder, 'demo.state'), 'utf8');
  const killed = await fakeMaster(t, { config: WITH_STATE, folder });
  await killed.transactions.apply(add('server 10.0.0.3:80;'));
  const master = await restart(t, killed, WITH_STATE, folder);
  await waitFor('the file', () => linesOf(folder).join('') === 'server 10.0.0.1:80;server 10.0.0.3:80;');
  await waitFor('the store', () => master.store.stateFiles.get(DEMO)?.next === undefined);
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
  await waitFor('the file', () => linesOf(folder).join('') === 'server 10.0.0.3:80;');
  await waitFor('the end', () => log.lines.length > 1);
  t.regex(log.lines[0] ?? '', /^\[error\] cannot write state file/);
  t.regex(log.lines[1] ?? '', /^\[notice\].* is written again/);
});

test('what an operator writes into a state file while a change is on its way to it is not lost', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\n' });
  const path = join(folder, 'demo.state');
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  const { transactions, log } = master;
  await transactions.apply(add('server 10.0.0.2:80;'));
  appendFileSync(path, 'server 10.0.0.3:80;\n');
  await waitFor('the warning', () => log.lines.length > 0);
  t.regex(log.lines[0] ?? '', /^\[warn\] state file ".*demo\.state" was edited and is not written until the next reload reads it/);
  await transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 weight=5;'));
  await transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80 weight=5@0', '10.0.0.3:80@2', '10.0.0.2:80@1']);
  const joined = 'server 10.0.0.1:80 weight=5;server 10.0.0.3:80;server 10.0.0.2:80;';
  await waitFor('the file', () => linesOf(folder).join('') === joined);
  t.deepEqual(log.lines.slice(1), []);

  // At once: the reload itself finds the edit.
  await transactions.apply(remove('10.0.0.3:80'));
  appendFileSync(path, 'server 10.0.0.4:80;\n');
  await transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80 weight=5@0', '10.0.0.2:80@1', '10.0.0.4:80@3']);
  await waitFor('the file', () => !linesOf(folder).includes('server 10.0.0.3:80;'));

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
  t.deepEqual(linesOf(folder), ['server 10.0.0.1:80;', 'server 10.0.0.2:80;']);
});

test('server lines beside a state file and strange lines in it are rejected, all of them', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80 weight=0;\nzone x;\n' });
  const error = await t.throwsAsync(fakeMaster(t, { config: WITH_STATE, folder }), { instanceOf: ConfigErrors });
  t.true(error.errors.length >= 2);
  t.true(error.errors.every(({ source }) => source?.file.endsWith('demo.state')));
  const both = 'http { upstream demo { zone demo 64k; state demo.state; server 10.0.0.1:80; } }';
  t.regex((await t.throwsAsync(fakeMaster(t, { config: both, folder: tempFolder(t) }))).message, /not allowed together with "state"/);
});

for (const [what, moved] of [
  ['parameters', '10.0.0.1:80 weight=7'],
  ['address', '10.0.0.2:80'],
] as const) {
  test(`a change of the ${what} that is acknowledged while the state file is being written reaches the file`, async (t) => {
    const folder = tempFolder(t, { 'demo.state': '' });
    const master = await fakeMaster(t, { config: WITH_STATE, folder });
    await master.transactions.apply(add('server 10.0.0.1:80;'));
    while (!existsSync(join(folder, 'demo.state.new'))) await turn();
    await master.transactions.apply(replace('10.0.0.1:80', `server ${moved};`));
    await waitFor('the file', () => linesOf(folder).join('') === `server ${moved};`);
    const second = await restart(t, master, WITH_STATE, folder);
    t.deepEqual(members(second), [`${moved}@0`]);
    await second.transactions.apply(add('server 10.0.0.9:80;'));
    t.deepEqual(members(second), [`${moved}@0`, '10.0.0.9:80@1']);
  });
}

test('a member that moves, and another that takes its address, survive a kill while the file cannot be written', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  mkdirSync(join(folder, 'demo.state.new'));
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.9:80;'));
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.1:80;'));
  await waitFor('the failure', () => master.log.lines.length > 0);
  const expected = ['10.0.0.9:80@0', '10.0.0.1:80@1'];
  const second = await restart(t, master, WITH_STATE, folder);
  t.deepEqual(members(second), expected);
  rmdirSync(join(folder, 'demo.state.new'));
  await second.transactions.close();
  t.deepEqual(linesOf(folder), ['server 10.0.0.9:80;', 'server 10.0.0.1:80;']);
  t.deepEqual(members(await restart(t, second, WITH_STATE, folder)), expected);
});

test('the same when it is killed in the moment after the file got its name', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.9:80;'));
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.1:80;'));
  while (!linesOf(folder).includes('server 10.0.0.9:80;')) await turn();
  t.deepEqual(members(await restart(t, master, WITH_STATE, folder)), ['10.0.0.9:80@0', '10.0.0.1:80@1']);
});

test('an edit after that kill is joined with what was in the file then', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\nserver 10.0.0.2:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.9:80;'));
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.1:80;'));
  while (!existsSync(join(folder, 'demo.state.new'))) await turn();
  await master.transactions.apply(replace('10.0.0.9:80', 'server 10.0.0.8:80;'));
  while (!linesOf(folder).includes('server 10.0.0.9:80;')) await turn();
  master.kill();
  appendFileSync(join(folder, 'demo.state'), 'server 10.0.0.7:80;\n');
  const second = await restart(t, master, WITH_STATE, folder);
  t.deepEqual(members(second), ['10.0.0.8:80@0', '10.0.0.1:80@1', '10.0.0.7:80@2']);
  t.deepEqual(second.log.lines, []);
});

/** A master with members 1 and 2 in the file, of which the second came by API; and the text of the file then. */
async function exported(t: ExecutionContext): Promise<{ master: FakeMaster; folder: string; path: string; text: string }> {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\n' });
  const master = await fakeMaster(t, { config: WITH_STATE, folder });
  await master.transactions.apply(add('server 10.0.0.2:80;'));
  await waitFor('the file', () => linesOf(folder).length === 2);
  await waitFor('the store', () => master.store.stateFiles.get(DEMO)?.next === undefined);
  const path = join(folder, 'demo.state');
  return { master, folder, path, text: readFileSync(path, 'utf8') };
}

test('the file says from which version of the configuration it is', async (t) => {
  const { master, text } = await exported(t);
  t.regex(text, /^# Written by srv from version \d+, digest [0-9a-f]{16}\. An edit takes effect at the next reload\.\n/);
  t.true(text.includes(`version ${master.transactions.version},`));
});

test('an editor that has an older version open takes back nothing that the API did meanwhile', async (t) => {
  const { master, folder, path, text } = await exported(t);
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 weight=5;'));
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.9:80;'));
  await master.transactions.apply(add('server 10.0.0.3:80;'));
  await waitFor('the file', () => linesOf(folder).length === 3);
  writeFileSync(path, `${text}server 10.0.0.4:80;\n`);
  await master.transactions.reload(() => master.parse(WITH_STATE));
  const expected = ['10.0.0.1:80 weight=5@0', '10.0.0.9:80@1', '10.0.0.4:80@3', '10.0.0.3:80@2'];
  t.deepEqual(members(master), expected);
  await waitFor('the file', () => linesOf(folder).length === 4);
  t.deepEqual(members(await restart(t, master, WITH_STATE, folder)), expected);
});

test('a member that the API removed does not come back with a file that was edited from an older version', async (t) => {
  const { master, folder, path, text } = await exported(t);
  await master.transactions.apply(remove('10.0.0.2:80'));
  await waitFor('the file', () => linesOf(folder).length === 1);
  writeFileSync(path, text.replace('server 10.0.0.1:80;', 'server 10.0.0.1:80 weight=7;'));
  await master.transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80 weight=7@0']);
});

test('an older file that is put back as it was counts, as does one without its first line', async (t) => {
  const { master, folder, path, text } = await exported(t);
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 weight=5;'));
  await waitFor('the file', () => linesOf(folder).includes('server 10.0.0.1:80 weight=5;'));
  writeFileSync(path, text);
  await master.transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80@0', '10.0.0.2:80@1']);
  writeFileSync(path, 'server 10.0.0.2:80;\n');
  t.deepEqual(members(await restart(t, master, WITH_STATE, folder)), ['10.0.0.2:80@1']);
});

test('members move between the block and a state file with their ids, and with what the API changed last', async (t) => {
  const { master, folder, path } = await exported(t);
  mkdirSync(`${path}.new`);
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.2:80 weight=5;'));
  await waitFor('the failure', () => master.log.lines.length > 0);
  const inBlock = 'http { upstream demo { zone demo 64k; server 10.0.0.1:80; server 10.0.0.2:80; } }';
  await master.transactions.reload(() => master.parse(inBlock));
  const expected = ['10.0.0.1:80@0', '10.0.0.2:80 weight=5@1'];
  t.deepEqual(members(master), expected);
  const second = await restart(t, master, inBlock, folder);
  t.deepEqual(members(second), expected);
  rmdirSync(`${path}.new`);
  const back = await restart(t, second, WITH_STATE, folder);
  t.deepEqual(members(back), expected);
  await waitFor('the file', () => linesOf(folder).join('') === 'server 10.0.0.1:80;server 10.0.0.2:80 weight=5;');
  t.deepEqual(back.drift(WITH_STATE), []);
});

test('what a file does not have yet is shown as the difference to it', async (t) => {
  const { master, path } = await exported(t);
  mkdirSync(`${path}.new`);
  await master.transactions.apply(replace('10.0.0.1:80', 'server 10.0.0.1:80 weight=5;'));
  await master.transactions.apply(remove('10.0.0.2:80'));
  t.deepEqual(master.drift(WITH_STATE), [
    'http / upstream demo',
    '- server 10.0.0.1:80;',
    '+ server 10.0.0.1:80 weight=5;',
    '- server 10.0.0.2:80;',
  ]);
});

test('a change to a member whose line an operator removed meanwhile is dropped and named', async (t) => {
  const { master, path, text } = await exported(t);
  await master.transactions.apply(replace('10.0.0.2:80', 'server 10.0.0.2:80 weight=5;'));
  writeFileSync(path, text.replace('server 10.0.0.2:80;\n', ''));
  await master.transactions.reload(() => master.parse(WITH_STATE));
  t.deepEqual(members(master), ['10.0.0.1:80@0']);
  t.regex(master.log.lines.join('\n'), /dropped[^]*: http \/ upstream demo \/ server@1: replace "server 10\.0\.0\.2:80 weight=5;"/);
});
