import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { CertificateCache } from '../../core/toolkit/tls/certificate-cache.js';
import { tempFolder } from '../harness/temp.js';

const START = 1_000_000;

interface Stage {
  readonly cache: CertificateCache;
  /** The path of a file. */
  readonly path: (name: string) => string;
  readonly write: (name: string, text: string) => void;
  /** What is read at a time, in milliseconds from the start on. */
  readonly read: (name: string, at: number) => string;
}

function stage(t: ExecutionContext, options: ConstructorParameters<typeof CertificateCache>[0]): Stage {
  const folder = tempFolder(t);
  const cache = new CertificateCache(options);
  const path = (name: string): string => join(folder, name);
  return {
    cache,
    path,
    write: (name, text) => writeFileSync(path(name), text),
    read: (name, at) => cache.read(path(name), START + at).toString(),
  };
}

test('valid: a file is looked at again when the time is over, and read when it has changed', (t) => {
  const { cache, path, write, read } = stage(t, { max: 10, inactive: 1e9, valid: 1000 });
  write('a', 'first');
  t.is(read('a', 0), 'first');
  write('a', 'the second one');
  t.is(read('a', 999), 'first');
  t.is(read('a', 1000), 'the second one');
  const bytes = cache.read(path('a'), START + 1500);
  t.is(cache.read(path('a'), START + 5000), bytes, 'unchanged: the same object');
  write('a', 'the third one!');
  t.is(read('a', 5999), 'the second one', 'the time begins again with each look');
  t.is(read('a', 6000), 'the third one!');
});

test('valid: a file that has gone is an error when the time is over, and read again when it is back', (t) => {
  const { path, write, read } = stage(t, { max: 10, inactive: 1e9, valid: 1000 });
  write('a', 'first');
  t.is(read('a', 0), 'first');
  rmSync(path('a'));
  t.is(read('a', 999), 'first');
  t.throws(() => read('a', 1000), { code: 'ENOENT' });
  t.throws(() => read('a', 1001), { code: 'ENOENT' }, 'it is not retained');
  write('a', 'again');
  t.is(read('a', 1002), 'again');
});

test('valid: a replaced file with the same size and time of change is read', (t) => {
  const { path, write, read } = stage(t, { max: 10, inactive: 1e9, valid: 1000 });
  write('a', 'first');
  t.is(read('a', 0), 'first');
  const { atime, mtime } = statSync(path('a'));
  rmSync(path('a'));
  write('other', 'holds the inode');
  write('a', 'other');
  utimesSync(path('a'), atime, mtime);
  t.is(read('a', 1000), 'other');
});

test('inactive: what was not used for the time is removed, also while it is valid', (t) => {
  const { write, read } = stage(t, { max: 10, inactive: 1000, valid: 1e9 });
  write('a', 'a1');
  write('b', 'b1');
  read('a', 0);
  read('b', 0);
  write('a', 'a2');
  write('b', 'b2');
  t.is(read('a', 999), 'a1');
  t.is(read('b', 1000), 'b2', 'not used for 1000');
  t.is(read('a', 1998), 'a1', 'each use begins the time again');
  t.is(read('a', 2998), 'a2');
});

test('max: the one that was used longest ago is removed', (t) => {
  const { write, read } = stage(t, { max: 2, inactive: 1e9, valid: 1e9 });
  for (const name of ['a', 'b', 'c']) write(name, `${name}1`);
  for (const name of ['a', 'b', 'a', 'c']) read(name, 0);
  for (const name of ['a', 'b', 'c']) write(name, `${name}2`);
  t.is(read('a', 0), 'a1');
  t.is(read('c', 0), 'c1');
  t.is(read('b', 0), 'b2');
  t.is(read('a', 0), 'a2', 'it had to give way to b');
});

test('off: each read reads the file', (t) => {
  const { write, read } = stage(t, undefined);
  write('a', 'a1');
  t.is(read('a', 0), 'a1');
  write('a', 'a2');
  t.is(read('a', 0), 'a2');
});
