import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './scope.js';

/** A small file system of its own. */
export class SmallDisk {
  constructor(readonly folder: string) {}

  /** Writes until nothing more fits. */
  fill(): void {
    const file = openSync(join(this.folder, 'filler'), 'a');
    try {
      for (const size of [65_536, 4096, 1]) {
        const bytes = Buffer.alloc(size);
        try {
          while (writeSync(file, bytes) === size);
        } catch {
          // No room for this many.
        }
      }
    } finally {
      closeSync(file);
    }
  }

  /** @param mode `ro` or `rw` */
  remount(mode: string): void {
    spawnSync('mount', ['-o', `remount,${mode}`, this.folder]);
  }

  empty(): void {
    rmSync(join(this.folder, 'filler'), { force: true });
  }
}

/** Mounts one; undefined where this user may not. */
export function smallDisk(t: Scope, size = '4m'): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'srv-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]);
  t.teardown(() => {
    if (status === 0) spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return status === 0 ? new SmallDisk(folder) : undefined;
}
