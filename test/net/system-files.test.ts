/** Files by system calls: the facts and errors of node:fs, without its layers. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type * as Ffi from 'node:ffi';
import { experimentalBuiltin } from '../../core/config/experimental-builtin.js';
import type { FileStatus } from '../../core/contract/system-files.js';
import { SystemCalls } from '../../core/net/transport/epoll/calls.js';
import { Errno } from '../../core/net/transport/epoll/errno.js';
import type { FileCalls } from '../../core/net/transport/epoll/file-calls.js';
import { NodeTransport } from '../../core/net/transport/node/node-transport.js';
import { OpenDescriptors } from '../../core/net/transport/open-descriptors.js';
import type { Transport } from '../../core/net/transport/transport.js';
import { TransportFiles } from '../../core/net/transport/transport-files.js';
import { hasEpoll } from '../harness/event-methods.js';
import { tempFolder } from '../harness/temp.js';

const ofLinux = hasEpoll ? test : test.skip;

const bytes = (path: string): string => Buffer.from(path).toString('latin1');

function calls(): FileCalls {
  return new SystemCalls(experimentalBuiltin('node:ffi', 'FFI') as typeof Ffi).files;
}

function filesOver(files: Partial<FileCalls> | undefined, opened = new OpenDescriptors(), clock = { now: 0 }): TransportFiles {
  const closeFile = (descriptor: number): void => {
    opened.delete(descriptor);
    files?.close?.(descriptor);
  };
  return new TransportFiles({ current: Object.assign(new NodeTransport(), { files, closeFile }) as Transport }, opened, clock);
}

/** Of both ways to use the system. */
const EACH: readonly (readonly [name: string, files: () => TransportFiles])[] = [
  ['node:fs', () => filesOver(undefined)],
  ['system calls', () => filesOver(calls())],
];

function site(t: ExecutionContext): string {
  const folder = tempFolder(t, { file: 'content', empty: '', 'ä b': 'bytes' });
  mkdirSync(join(folder, 'folder'));
  symlinkSync('file', join(folder, 'link'));
  symlinkSync('loop', join(folder, 'loop'));
  spawnSync('mkfifo', [join(folder, 'pipe')]);
  writeFileSync(join(folder, 'large'), '');
  truncateSync(join(folder, 'large'), 5_000_000_000);
  utimesSync(join(folder, 'file'), 1_000_000_000.25, 1_000_000_000.25);
  utimesSync(join(folder, 'empty'), -1000.5, -1000.5);
  return folder;
}

/** As callers do it: nothing may be known of a file that does not exist. */
async function found<T>(system: TransportFiles, path: string, look: (waits: boolean) => T | undefined): Promise<T> {
  const known = look(false);
  if (known !== undefined) return known;
  await system.prepare(path);
  return look(true) as T;
}

const opening = (system: TransportFiles, path: string): Promise<number> => found(system, path, (waits) => system.open(path, waits));
const status = (system: TransportFiles, path: string): Promise<FileStatus> => found(system, path, (waits) => system.status(path, waits));
const finding = (system: TransportFiles, path: string): Promise<FileStatus | false> =>
  found(system, path, (waits) => system.find(path, waits));

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

const factsOf = (status: FileStatus | Stats): object => ({
  size: status.size,
  mtimeMs: status.mtimeMs,
  ctimeMs: status.ctimeMs,
  ino: status.ino,
  mode: status.mode,
  isFile: status.isFile(),
  isDirectory: status.isDirectory(),
});

for (const [name, files] of EACH) {
  const tried = name === 'node:fs' ? test : ofLinux;

  tried(`${name}: the status of a file is what the system says`, async (t) => {
    const folder = site(t);
    const system = files();
    for (const file of ['file', 'empty', 'ä b', 'folder', 'link', 'pipe', 'large', '.']) {
      const path = join(folder, file);
      const expected = factsOf(statSync(path));
      t.deepEqual(factsOf(await status(system, bytes(path))), expected, file);
      t.deepEqual(factsOf((await finding(system, bytes(path))) as FileStatus), expected, file);
      const descriptor = await opening(system, bytes(path));
      t.deepEqual(factsOf(system.statusOf(descriptor)), expected, file);
      system.close(descriptor);
    }
  });

  tried(`${name}: errors have the codes of node:fs`, async (t) => {
    const folder = site(t);
    const system = files();
    for (const [path, code] of [
      ['none', 'ENOENT'],
      ['file/x', 'ENOTDIR'],
      ['loop', 'ELOOP'],
      ['x'.repeat(256), 'ENAMETOOLONG'],
      ['x/'.repeat(3000), 'ENAMETOOLONG'],
    ] as const) {
      await t.throwsAsync(opening(system, join(folder, path)), { code }, path);
      await t.throwsAsync(status(system, join(folder, path)), { code }, path);
      if (code === 'ENOENT' || code === 'ENOTDIR') t.false(await finding(system, join(folder, path)));
      else await t.throwsAsync(finding(system, join(folder, path)), { code }, path);
    }
  });

  tried(`${name}: a file is read from any place, to its end`, async (t) => {
    const folder = site(t);
    const system = files();
    const descriptor = await opening(system, join(folder, 'file'));
    const into = Buffer.alloc(16);
    t.deepEqual([system.read(descriptor, into, 3), into.latin1Slice(0, 4)], [4, 'tent']);
    t.is(system.read(descriptor, into, 7), 0);
    system.close(descriptor);
    const folderItself = await opening(system, folder);
    t.throws(() => system.read(folderItself, into, 0), { code: 'EISDIR' });
    system.close(folderItself);
  });

  tried(`${name}: a path is used as a whole or not at all`, (t) => {
    const folder = site(t);
    const system = files();
    // The rest of a text after NUL would be lost, and of U+0166 the byte of "f" would remain.
    for (const path of [`${folder}/file\0.html`, `${folder}/\u{166}ile`]) {
      t.throws(() => system.open(path), undefined, path);
      t.throws(() => system.status(path), undefined, path);
    }
  });
}

ofLinux('a path that was in memory a moment ago is looked up with one call, later and as another one not', (t) => {
  const folder = site(t);
  const [file, other, none] = ['file', 'empty', 'none'].map((name) => join(folder, name)) as [string, string, string];
  const real = calls();
  const waits: boolean[] = [];
  const clock = { now: 1_000_000 };
  const look = (path: string, mayWait: boolean): FileStatus | number => {
    waits.push(mayWait);
    return real.status(path, mayWait);
  };
  const system = filesOver({ status: look }, new OpenDescriptors(), clock);
  const looked = (...paths: string[]): boolean[] => {
    waits.length = 0;
    for (const path of paths) system.find(path);
    return [...waits];
  };
  t.deepEqual(looked(file, other, file, other), [false, false, true, true]);
  t.deepEqual(looked(none, none), [false, false], 'missing ones are not remembered');
  clock.now += 600;
  t.deepEqual(looked(file), [true]);
  for (const passed of [600, 5000, -5000]) {
    clock.now += passed;
    t.deepEqual(looked(file, file), [false, true], `${passed} ms later`);
  }
  const many = Array.from({ length: 5000 }, (_, at) => `${folder}/${'./'.repeat(at % 50)}/${'/'.repeat(at / 50)}file`);
  looked(...many);
  t.deepEqual(looked(file), [false], 'not more than some thousand are');
});

const alone = hasEpoll ? test.serial : test.serial.skip;

// Descriptors of the process are counted.
alone('a path that is not in memory is looked up by another thread, and any descriptor is closed', async (t) => {
  const folder = site(t);
  const real = calls();
  const opened = new OpenDescriptors();
  const system = filesOver(
    {
      open: (path, waits) => (waits ? real.open(path, true) : -Errno.Again),
      status: (path, waits) => (waits ? real.status(path, true) : -Errno.Again),
      statusOf: (descriptor) => real.statusOf(descriptor),
      close: (descriptor) => real.close(descriptor),
    },
    opened,
  );
  const before = openDescriptors();
  const path = join(folder, 'file');
  t.deepEqual([system.open(path), system.status(path), system.find(path)], [undefined, undefined, undefined]);
  const descriptor = await opening(system, join(folder, 'file'));
  t.is(system.statusOf(descriptor).size, 7);
  await t.throwsAsync(opening(system, join(folder, 'none')), { code: 'ENOENT' });
  t.false(await finding(system, join(folder, 'none')));
  const ofCalls = filesOver(real, opened);
  const own = ofCalls.open(join(folder, 'file'), true);
  t.true(opened.has(own), 'those of a thread that dies are closed');
  t.is(ofCalls.find(join(folder, 'folder'), true) && ofCalls.status(join(folder, 'file'), true).size, 7);
  system.close(descriptor);
  ofCalls.close(own);
  t.is(openDescriptors(), before);
  t.false(opened.has(own));
});
