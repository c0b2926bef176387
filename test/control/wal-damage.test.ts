import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Store } from '../../core/control/store.js';
import { StoreError } from '../../core/control/store-error.js';
import { tempFolder } from '../harness/temp.js';

const FRAME = 24 + 4096;

/** A store as a kill leaves it after as many transactions. */
function killed(t: ExecutionContext, transactions: number): { folder: string; log: string; frames: number[]; lastBegins: number } {
  const alive = tempFolder(t);
  const store = Store.open(alive);
  for (let n = 1; n <= transactions; n++) {
    store.transaction(() => {
      store.version = n;
      store.pairs.put({ key: `key ${n}`, value: 'x'.repeat(100), version: n, expires: 0 });
    });
  }
  const folder = tempFolder(t);
  for (const file of ['srv.db', 'srv.db-wal']) copyFileSync(join(alive, file), join(folder, file));
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

test('a torn last transaction is no damage: it was not answered', (t) => {
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
