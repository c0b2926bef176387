import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Store } from '../../core/changes/store.js';
import { StoreError } from '../../core/changes/store-error.js';
import { tempFolder } from '../harness/temp.js';

const FRAME = 24 + 4096;

/**
 * A store as a kill leaves it after as many transactions.
 * @param mark with the number of the last commit beside it; a power cut may have taken that
 */
function killed(
  t: ExecutionContext,
  transactions: number,
  mark = false,
): { folder: string; log: string; frames: number[]; lastBegins: number } {
  const alive = tempFolder(t);
  const store = Store.open(alive);
  for (let n = 1; n <= transactions; n++) {
    store.transaction(() => {
      store.version = n;
      store.pairs.put({ key: `key ${n}`, value: 'x'.repeat(100), version: n, expires: 0 });
    });
  }
  const folder = tempFolder(t);
  for (const file of ['srv.db', 'srv.db-wal', ...(mark ? ['srv.commit'] : [])]) copyFileSync(join(alive, file), join(folder, file));
  store.close();
  const log = join(folder, 'srv.db-wal');
  const bytes = readFileSync(log);
  const frames = Array.from({ length: (bytes.length - 32) / FRAME }, (_, at) => 32 + at * FRAME);
  const ends = frames.filter((at) => bytes.readUInt32BE(at + 4) !== 0);
  return { folder, log, frames, lastBegins: (ends.at(-2) ?? 0) + FRAME };
}

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 4;
  writeFileSync(path, bytes);
}

function versionIn(folder: string): number {
  const store = Store.open(folder);
  try {
    return store.version;
  } finally {
    store.close();
  }
}

test('a flipped bit is found wherever it is, before the last transaction', (t) => {
  const { folder, log, frames, lastBegins } = killed(t, 12);
  // Its checksum, and three places in the page.
  for (const at of frames.filter((frame) => frame < lastBegins)) {
    for (const offset of [16, 24, 2000, FRAME - 1]) {
      flipBit(log, at + offset);
      t.throws(() => Store.open(folder), { instanceOf: StoreError, message: /srv\.db-wal" is damaged/ }, `${at} + ${offset}`);
      flipBit(log, at + offset);
    }
  }
  t.is(versionIn(folder), 12);
});

test('damage in the header of the log is found', (t) => {
  const { folder, log } = killed(t, 3);
  // The length of pages, and a checksum.
  for (const at of [8, 11, 25]) {
    flipBit(log, at);
    t.throws(() => Store.open(folder), { instanceOf: StoreError, message: /srv\.db-wal" is damaged/ }, String(at));
    flipBit(log, at);
  }
});

test('a torn last transaction is no damage: it was not acknowledged', (t) => {
  const torn = killed(t, 5);
  truncateSync(torn.log, (torn.frames.at(-1) ?? 0) + 1000);
  t.is(versionIn(torn.folder), 4);

  // The disk may have written its end before its beginning.
  const reordered = killed(t, 5);
  flipBit(reordered.log, reordered.lastBegins + 100);
  t.is(versionIn(reordered.folder), 4);
});

test('what a log before this one has left behind is no damage', (t) => {
  const { folder, frames } = killed(t, 700);
  t.true(frames.length > 300);
  t.is(versionIn(folder), 700);
});

const LOST: readonly (readonly [what: string, spoil: (store: ReturnType<typeof killed>) => void, lost: RegExp])[] = [
  ['damage in the last transaction', ({ log, lastBegins }) => flipBit(log, lastBegins + 100), /lacks the last change that was made/],
  [
    'a log that was cut short',
    ({ log, frames }) => truncateSync(log, frames[frames.length - 4]),
    /lacks the last \d changes that were made/,
  ],
  ['a log that was emptied', ({ log }) => truncateSync(log, 0), /lacks the last 5 changes/],
  ['a log that was removed', ({ log }) => rmSync(log), /lacks the last 5 changes/],
];

for (const [what, spoil, lost] of LOST) {
  test(`${what} is told from one that a power cut interrupted, by the number of the last commit`, (t) => {
    const store = killed(t, 5, true);
    spoil(store);
    t.throws(() => Store.open(store.folder), { instanceOf: StoreError, message: lost });
    t.throws(() => Store.openReadOnly(store.folder), {
      instanceOf: StoreError,
      message: /srv\.db" lacks [^]*to start without them, remove ".*srv\.commit"/,
    });
    rmSync(join(store.folder, 'srv.commit'));
    t.true(versionIn(store.folder) < 5);
  });
}

test('an older copy of the database is not taken for the last one', (t) => {
  const folder = tempFolder(t);
  const commit = (version: number): void => {
    const store = Store.open(folder);
    store.transaction(() => (store.version = version));
    store.close();
  };
  commit(1);
  copyFileSync(join(folder, 'srv.db'), join(folder, 'copy'));
  commit(2);
  copyFileSync(join(folder, 'copy'), join(folder, 'srv.db'));
  t.throws(() => Store.open(folder), { instanceOf: StoreError, message: /lacks the last change[^]*or it is an older copy/ });
  // That of another database says nothing.
  rmSync(join(folder, 'srv.db'));
  t.is(versionIn(folder), 0);
});

test('a damaged number of the last commit says nothing', (t) => {
  const { folder, log } = killed(t, 5, true);
  flipBit(join(folder, 'srv.commit'), 30);
  rmSync(log);
  t.is(versionIn(folder), 0);
});
