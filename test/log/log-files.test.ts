import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import test from 'ava';
import { LogFileError } from '../../core/log/log-file-error.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { tempFolder } from '../harness/temp.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test('the first line of a turn is written at once; others wait for its end and leave together, in order', async (t) => {
  const path = `${tempFolder(t)}/a.log`;
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const file = files.open(path);
  file.write('one');
  file.write('two');
  file.write('three');
  t.is(readFileSync(path, 'utf8'), 'one\n');
  await turn();
  t.is(readFileSync(path, 'utf8'), 'one\ntwo\nthree\n');
  file.write('four');
  t.regex(readFileSync(path, 'utf8'), /four\n$/);
});

test('so it is with files whose names requests make', async (t) => {
  const folder = tempFolder(t);
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const named = files.named();
  const texts = (): string[] => ['a', 'b'].map((name) => readFileSync(`${folder}/${name}`, 'utf8'));
  for (const line of ['one', 'two']) for (const name of ['a', 'b']) named.write(`${folder}/${name}`, line);
  t.deepEqual(texts(), ['one\n', 'one\n']);
  await turn();
  named.write(`${folder}/a`, 'three');
  t.deepEqual(texts(), ['one\ntwo\nthree\n', 'one\ntwo\n']);
});

test('more than the buffer holds is written at once', (t) => {
  const path = `${tempFolder(t)}/a.log`;
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const file = files.open(path);
  const line = 'x'.repeat(1000);
  for (let i = 0; i < 70; i++) file.write(line);
  t.true(readFileSync(path).length > 60_000);
});

test('the same path is the same file', (t) => {
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const path = `${tempFolder(t)}/a.log`;
  t.is(files.open(path), files.open(path));
});

test('it appends to what is there', (t) => {
  const path = `${tempFolder(t, { 'a.log': 'old\n' })}/a.log`;
  const files = new AppendedLogFiles();
  files.open(path).write('new');
  files.close();
  t.is(readFileSync(path, 'utf8'), 'old\nnew\n');
});

test('a missing folder is an error, unless it is to be made', (t) => {
  const folder = tempFolder(t);
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  t.throws(() => files.open(`${folder}/x/a.log`), {
    instanceOf: LogFileError,
    message: `open() "${folder}/x/a.log" failed (2: No such file or directory)`,
  });
  files.openMakingDirectories(`${folder}/x/y/a.log`);
  t.true(existsSync(`${folder}/x/y/a.log`));
});

test('reopening loses no line: what was written before stays in the old file', async (t) => {
  const folder = tempFolder(t);
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const file = files.open(`${folder}/a.log`);
  file.write('before');
  renameSync(`${folder}/a.log`, `${folder}/a.old`);
  t.deepEqual(files.reopen(), []);
  file.write('after');
  await turn();
  t.is(readFileSync(`${folder}/a.old`, 'utf8'), 'before\n');
  t.is(readFileSync(`${folder}/a.log`, 'utf8'), 'after\n');
});

test('a file that cannot be opened again is reported, and goes on in the old one', async (t) => {
  const folder = tempFolder(t);
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  mkdirSync(`${folder}/x`);
  const file = files.open(`${folder}/x/a.log`);
  renameSync(`${folder}/x`, `${folder}/y`);
  t.deepEqual(
    files.reopen().map(({ message }) => message),
    [`open() "${folder}/x/a.log" failed (2: No such file or directory)`],
  );
  file.write('still here');
  await turn();
  t.is(readFileSync(`${folder}/y/a.log`, 'utf8'), 'still here\n');
});

test('a file that was removed costs nothing but its lines', async (t) => {
  const folder = tempFolder(t);
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const file = files.open(`${folder}/a.log`);
  rmSync(`${folder}/a.log`);
  file.write('gone');
  await turn();
  t.false(existsSync(`${folder}/a.log`));
});

test('a full disk loses lines and throws nothing', async (t) => {
  const files = new AppendedLogFiles();
  t.teardown(() => files.close());
  const file = files.open('/dev/full');
  file.write('lost');
  await t.notThrowsAsync(turn());
});
