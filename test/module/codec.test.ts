import { createGunzip, createGzip, constants, gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import type { BodyOutput } from '../../core/contract/http.js';
import { CodecPool } from '../../core/toolkit/codec.js';

const ignore = (): void => undefined;

function output(): BodyOutput & { readonly pieces: Buffer[] } {
  const pieces: Buffer[] = [];
  return { pieces, write: (piece) => pieces.push(Buffer.from(piece)) > 0, end: ignore, pause: ignore, resume: ignore, fail: ignore };
}

test('a codec is used again, and makes the same', (t) => {
  const pool = new CodecPool<ReturnType<typeof createGzip>>();
  let created = 0;
  const create = (): ReturnType<typeof createGzip> => (created++, createGzip({ level: 1 }));
  for (const text of ['a'.repeat(100_000), 'b', '', Math.random().toString().repeat(9000)]) {
    const codec = pool.borrow(1, create);
    const out = output();
    t.is(codec?.run(Buffer.from(text), constants.Z_FINISH, out), 0);
    t.is(gunzipSync(Buffer.concat(out.pieces)).toString(), text);
    t.is(codec?.bytesOut, Buffer.concat(out.pieces).length);
    if (codec !== undefined) pool.release(codec);
  }
  t.is(created, 1);
  const one = pool.borrow(1, create);
  t.not(pool.borrow(1, create), one, 'two bodies at a time');
  t.is(created, 2);
});

test('few codecs are kept, the ones that were used last', (t) => {
  const pool = new CodecPool<ReturnType<typeof createGzip>>();
  const codecs = Array.from({ length: 20 }, (_, kind) => pool.borrow(kind, () => createGzip()));
  for (const codec of codecs) if (codec !== undefined) pool.release(codec);
  let created = 0;
  for (let kind = 0; kind < 20; kind++) pool.borrow(kind, () => (created++, createGzip()));
  t.is(created, 12);
});

test('one that has failed is not kept', (t) => {
  const pool = new CodecPool<ReturnType<typeof createGunzip>>();
  const codec = pool.borrow(0, () => createGunzip());
  t.throws(() => codec?.run(Buffer.from('this is not gzip'), constants.Z_NO_FLUSH, output()), { message: 'incorrect header check' });
  if (codec !== undefined) pool.release(codec);
  t.not(
    pool.borrow(0, () => createGunzip()),
    codec,
  );
});

test('output is limited, and what follows is left', (t) => {
  const pool = new CodecPool<ReturnType<typeof createGunzip>>();
  const codec = pool.borrow(0, () => createGunzip());
  const zeros = gzipSync(Buffer.alloc(10_000_000));
  const out = output();
  t.true((codec?.run(zeros, constants.Z_NO_FLUSH, out, 65_536) ?? 0) > 0);
  t.is(Buffer.concat(out.pieces).length, 65_536);
  t.false(codec?.isComplete);
  codec?.reset();
  codec?.run(Buffer.concat([gzipSync('all'), Buffer.from([0, 0])]), constants.Z_NO_FLUSH, out);
  t.true(codec?.isComplete);
});

test('a Node.js without what it needs has none', (t) => {
  const pool = new CodecPool<ReturnType<typeof createGzip>>();
  t.is(
    pool.borrow(0, () => Object.assign(createGzip(), { _writeState: undefined })),
    undefined,
  );
});
