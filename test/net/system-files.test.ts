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
import { tempFolder } from '../harness/temp.js';

const isUsed = process.platform === 'linux' && process.versions.node.startsWith('26.');
const ofLinux = isUsed ? test : test.skip;

const bytes = (path: string): string => Buffer.from(path).toString('latin1');

function calls(): FileCalls {
  return new SystemCalls(experimentalBuiltin('node:ffi', 'FFI') as typeof Ffi).files;
}

function filesOver(files: Partial<FileCalls> | undefined, opened = new OpenDescriptors()): TransportFiles {
  return new TransportFiles({ current: Object.assign(new NodeTransport(), { files }) as Transport }, opened);
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

/** In either way: nothing may be known of a file that does not exist. */
const opening = async (system: TransportFiles, path: string): Promise<number> => system.open(path) ?? (await system.openLater(path));

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

const factsOf = (status: FileStatus | Stats): object => ({
  size: status.size,
  mtimeMs: status.mtimeMs,
  ctimeMs: status.ctimeMs,
  ino: status.ino,
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
      t.deepEqual(factsOf(system.status(bytes(path))), expected, file);
      t.deepEqual(system.find(bytes(path)) && factsOf(system.status(bytes(path))), expected, file);
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
      t.throws(() => system.status(join(folder, path)), { code }, path);
      if (code === 'ENOENT' || code === 'ENOTDIR') t.is(system.find(join(folder, path)), undefined);
      else t.throws(() => system.find(join(folder, path)), { code }, path);
    }
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

const alone = isUsed ? test.serial : test.serial.skip;

// Descriptors of the process are counted.
alone('a path that is not in memory is opened in another thread, and any descriptor is closed', async (t) => {
  const folder = site(t);
  const real = calls();
  const opened = new OpenDescriptors();
  const system = filesOver(
    {
      open: () => -Errno.Again,
      statusOf: (descriptor) => real.statusOf(descriptor),
      close: (descriptor) => real.close(descriptor),
    },
    opened,
  );
  const before = openDescriptors();
  t.is(system.open(join(folder, 'file')), undefined);
  const descriptor = await system.openLater(join(folder, 'file'));
  t.is(system.statusOf(descriptor).size, 7);
  await t.throwsAsync(system.openLater(join(folder, 'none')), { code: 'ENOENT' });
  const ofCalls = filesOver(real, opened);
  const own = ofCalls.open(join(folder, 'file'));
  t.true(opened.has(own ?? -1), 'those of a thread that dies are closed');
  system.close(descriptor);
  ofCalls.close(own ?? -1);
  t.is(openDescriptors(), before);
  t.false(opened.has(own ?? -1));
});
