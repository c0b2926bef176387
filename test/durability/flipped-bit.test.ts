import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { StoreError } from '../../core/changes/store-error.js';
import { Store } from '../../core/changes/store.js';
import { tempFolder } from '../harness/temp.js';

/** Bits to flip: all of them take an hour. */
const FLIPS = Number(process.env['SRV_FLIPPED_BITS'] ?? 150);

function fill(folder: string): void {
  const store = Store.open(folder);
  store.transaction(() => {
    store.version = 7;
    for (let n = 0; n < 60; n++) {
      const [address, text] = [`"http","upstream a","server@${n}"`, `server 10.0.0.${n}:80 weight=${n + 1};\n`];
      store.overlay.put({ address, op: 'add', parent: '"http","upstream a"', text, was: undefined, key: n, seq: n });
      store.keys.put('a', { identity: `server 10.0.0.${n}:80`, occurrence: 0, key: n });
      const none = { written: undefined, since: 0, old: undefined, next: undefined };
      store.stateLines.put({ block: 'b', key: n, text, ...none, place: n, born: 3, changed: 4 });
      store.pairs.put({ key: `color ${n}`, value: 'red', version: n, expires: 0 });
      store.history.add({ version: n, at: 5, node: 'a', origin: 'x', actor: 'deploy', message: '', changes: '[]' });
    }
    store.keys.setNext('a', 60);
    store.stateFiles.put({ block: 'b', written: { version: 3, digest: '0123456789abcdef' }, next: undefined });
  });
  store.close();
}

/** Everything that is in it. */
function contentOf(folder: string): string {
  const store = Store.open(folder);
  try {
    const { overlay, keys, stateLines, stateFiles, pairs, history, version } = store;
    return JSON.stringify([
      version,
      overlay.all(),
      [keys.of('a'), keys.next('a')],
      [stateLines.all(), stateFiles.get('b')],
      [...pairs.all()],
      history.last(1000),
    ]);
  } finally {
    store.close();
  }
}

test('a flipped bit in the store is found at the start, or in a place that means nothing', (t) => {
  const whole = tempFolder(t);
  fill(whole);
  const expected = contentOf(whole);
  const bytes = readFileSync(join(whole, 'srv.db'));
  const damaged = join(tempFolder(t), 'data');
  let found = 0;
  for (let n = 0; n < FLIPS; n++) {
    const [at, bit] = [Math.floor(Math.random() * bytes.length), Math.floor(Math.random() * 8)];
    rmSync(damaged, { recursive: true, force: true });
    mkdirSync(damaged);
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] ?? 0) ^ (1 << bit);
    writeFileSync(join(damaged, 'srv.db'), copy);
    copyFileSync(join(whole, 'srv.commit'), join(damaged, 'srv.commit'));
    try {
      t.is(contentOf(damaged), expected, `byte ${at}, bit ${bit}`);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      found++;
    }
  }
  t.log(`${found} of ${FLIPS} found, the others mean nothing`);
  t.true(found > FLIPS / 10);
});

test('a value that was changed in the store is not served', (t) => {
  const folder = tempFolder(t);
  fill(folder);
  const path = join(folder, 'srv.db');
  const bytes = readFileSync(path);
  // In the row, and in what is left of it in free space.
  for (let at = 0; (at = bytes.indexOf('10.0.0.7:80 weight=8', at)) >= 0;) bytes.write('10.0.0.9', at);
  writeFileSync(path, bytes);
  t.throws(() => Store.open(folder), {
    instanceOf: StoreError,
    message: /srv\.db" is empty, damaged or not a database[^]*restore it from a backup/,
  });
  t.throws(() => Store.openReadOnly(folder), { instanceOf: StoreError, message: /damaged/ });
});

test('a column that got another name is found', (t) => {
  const folder = tempFolder(t);
  fill(folder);
  const path = join(folder, 'srv.db');
  const bytes = readFileSync(path);
  bytes.write('Written TEXT', bytes.indexOf('written TEXT'));
  writeFileSync(path, bytes);
  t.throws(() => contentOf(folder), { instanceOf: StoreError });
});
