import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { Store } from '../../core/changes/store.js';
import { StoreError } from '../../core/changes/store-error.js';
import { tempFolder } from '../harness/temp.js';

const ROW = {
  address: '"http","upstream a","server@1"',
  op: 'add',
  parent: '"http","upstream a"',
  text: 'server a;\n',
  was: undefined,
  key: 1,
  seq: 1,
  sibling: undefined,
  previous: undefined,
} as const;

test('what was written is there after it is opened again', (t) => {
  const folder = join(tempFolder(t), 'data');
  const store = Store.open(folder);
  store.transaction(() => {
    store.version = 7;
    store.overlay.put(ROW);
    store.keys.put('b', { identity: 'server a', occurrence: 0, key: 1 });
    store.keys.setNext('b', 2);
    store.pairs.put({ key: 'color', value: '', version: 1, expires: 0 });
  });
  store.close();
  const again = Store.open(folder);
  t.teardown(() => again.close());
  t.is(again.version, 7);
  t.deepEqual(
    again.overlay.all().map((row) => ({ ...row })),
    [ROW],
  );
  t.is(again.keys.next('b'), 2);
  t.deepEqual(
    [...again.pairs.all()].map((pair) => pair.value),
    [''],
  );
});

test('nothing of a transaction that throws is kept', (t) => {
  const store = Store.open(tempFolder(t));
  t.teardown(() => store.close());
  t.throws(() =>
    store.transaction(() => {
      store.overlay.put(ROW);
      throw new Error('no');
    }),
  );
  t.deepEqual(store.overlay.all(), []);
});

test('next keys never go back', (t) => {
  const store = Store.open(tempFolder(t));
  t.teardown(() => store.close());
  store.keys.setNext('b', 9);
  store.keys.setNext('b', 3);
  t.is(store.keys.next('b'), 9);
});

test('the history is bounded', (t) => {
  const store = Store.open(tempFolder(t));
  t.teardown(() => store.close());
  store.transaction(() => {
    for (let version = 1; version <= 1500; version++)
      store.history.add({ version, at: 0, node: 'a', origin: 'r', actor: 'deploy', message: '', changes: '[]' });
  });
  const kept = store.history.last(5000);
  t.is(kept.length, 1000);
  t.is(kept[0]?.version, 1500);
});

test('folder and files are private', (t) => {
  const folder = join(tempFolder(t), 'data');
  const store = Store.open(folder);
  t.teardown(() => store.close());
  store.version = 1;
  t.is(statSync(folder).mode & 0o777, 0o700);
  for (const file of ['srv.db', 'srv.db-wal']) t.is(statSync(join(folder, file)).mode & 0o777, 0o600, file);
});

test('files that came with another mode are closed to others', (t) => {
  const folder = tempFolder(t);
  Store.open(folder).close();
  chmodSync(join(folder, 'srv.db'), 0o666);
  const store = Store.open(folder);
  t.teardown(() => store.close());
  store.version = 1;
  for (const file of ['srv.db', 'srv.db-wal']) t.is(statSync(join(folder, file)).mode & 0o777, 0o600, file);
});

test('a second server on the same folder is rejected in words, and let in when the first is gone', (t) => {
  const folder = tempFolder(t);
  const first = Store.open(folder);
  t.throws(() => Store.open(folder), { instanceOf: StoreError, message: /in use by another srv/ });
  first.close();
  const second = Store.open(folder);
  second.close();
  t.pass();
});

test('it can be looked at while a server has it', (t) => {
  const folder = tempFolder(t);
  t.is(Store.openReadOnly(folder), undefined);
  const store = Store.open(folder);
  t.teardown(() => store.close());
  store.version = 3;
  const view = Store.openReadOnly(folder);
  t.is(view?.version, 3);
  t.throws(() => {
    if (view) view.version = 4;
  });
  view?.close();
});

test('a database that was emptied is rejected, as it held something', (t) => {
  const folder = tempFolder(t);
  Store.open(folder).close();
  writeFileSync(join(folder, 'srv.db'), '');
  t.throws(() => Store.open(folder), { instanceOf: StoreError, message: /srv\.db" is empty[^]*restore it from a backup/ });
  t.throws(() => Store.openReadOnly(folder), { instanceOf: StoreError, message: /srv\.db" is empty/ });
});

test('a log without its database is rejected, as it held something', (t) => {
  const folder = tempFolder(t, { 'srv.db-wal': 'x'.repeat(5000) });
  const message = /srv\.db" is missing[^]*restore both from a backup, or move the -wal/;
  t.throws(() => Store.open(folder), { instanceOf: StoreError, message });
  t.throws(() => Store.openReadOnly(folder), { instanceOf: StoreError, message });
  rmSync(join(folder, 'srv.db-wal'));
  Store.open(folder).close();
});

test('a damaged, a foreign and a later database are rejected with what to do', (t) => {
  const damaged = tempFolder(t, { 'srv.db': 'x'.repeat(5000) });
  t.throws(() => Store.open(damaged), { instanceOf: StoreError, message: /damaged[^]*restore it from a backup/ });

  const foreign = tempFolder(t);
  const other = new DatabaseSync(join(foreign, 'srv.db'));
  other.exec('CREATE TABLE theirs (a)');
  other.close();
  t.throws(() => Store.open(foreign), { instanceOf: StoreError, message: /another program/ });

  const later = tempFolder(t);
  Store.open(later).close();
  const newer = new DatabaseSync(join(later, 'srv.db'));
  newer.exec('PRAGMA user_version = 99');
  newer.close();
  t.throws(() => Store.open(later), { instanceOf: StoreError, message: /later srv/ });
});

test('a folder that cannot be used is named', (t) => {
  const folder = tempFolder(t, { data: 'a file' });
  t.throws(() => Store.open(join(folder, 'data')), { instanceOf: StoreError, message: /cannot be used/ });
});

/** Writes a row and its twin in one transaction after another and says so, until it is killed. */
const WRITER = `
  const { Store } = await import(process.argv[2]);
  const store = Store.open(process.argv[3]);
  for (let n = 1; ; n++) {
    store.transaction(() => {
      store.pairs.put({ key: 'a', value: String(n), version: n, expires: 0 });
      store.pairs.put({ key: 'b', value: String(n), version: n, expires: 0 });
    });
    await new Promise(resolve => process.stdout.write(n + '\\n', resolve));
  }
`;

test('kill -9 between and in writes loses nothing that was acknowledged and keeps nothing by half', async (t) => {
  for (let round = 0; round < 5; round++) {
    const folder = tempFolder(t);
    const script = join(folder, 'writer.mjs');
    writeFileSync(script, WRITER);
    const storeFile = new URL('../../core/changes/store.js', import.meta.url).href;
    const child = spawn(process.execPath, [script, storeFile, join(folder, 'data')], { stdio: ['ignore', 'pipe', 'inherit'] });
    let answered = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      answered = Number(chunk.toString().trim().split('\n').at(-1));
      if (answered >= 100 + round * 7) child.kill('SIGKILL');
    });
    await once(child, 'close');
    t.true(existsSync(join(folder, 'data/srv.db')));
    const store = Store.open(join(folder, 'data'));
    const [a, b] = [...store.pairs.all()];
    store.close();
    t.is(a?.value, b?.value);
    t.true(Number(a?.value) >= answered);
  }
});
