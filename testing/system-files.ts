/** Files of the system, for unit tests. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { SystemFiles, type FileStatus } from '../core/contract/system-files.js';

/** Real files, of which the test says which ones the system does not have in memory. */
export class FakeSystemFiles extends SystemFiles {
  /** Paths that a disk has to be asked for, until they are prepared. */
  readonly onDisk = new Set<string>();
  /** Descriptors that are not closed yet. */
  readonly opened = new Set<number>();

  /** @param alwaysWaits nothing says what is in memory */
  constructor(readonly alwaysWaits = false) {
    super();
  }

  open(path: string, waits: true): number;
  open(path: string, waits?: boolean): number | undefined;
  open(path: string, waits = false): number | undefined {
    if (!waits && this.onDisk.has(path)) return undefined;
    const descriptor = openSync(bytesOf(path), 'r');
    this.opened.add(descriptor);
    return descriptor;
  }

  statusOf(descriptor: number): FileStatus {
    return fstatSync(descriptor);
  }

  status(path: string, waits: true): FileStatus;
  status(path: string, waits?: boolean): FileStatus | undefined;
  status(path: string, waits = false): FileStatus | undefined {
    return !waits && this.onDisk.has(path) ? undefined : statSync(bytesOf(path));
  }

  find(path: string, waits: true): FileStatus | false;
  find(path: string, waits?: boolean): FileStatus | false | undefined;
  find(path: string, waits = false): FileStatus | false | undefined {
    if (!waits && this.onDisk.has(path)) return undefined;
    return statSync(bytesOf(path), { throwIfNoEntry: false }) ?? false;
  }

  async prepare(path: string): Promise<void> {
    this.onDisk.delete(path);
  }

  read(descriptor: number, into: Buffer, from: number): number {
    return readSync(descriptor, into, 0, into.length, from);
  }

  close(descriptor: number): void {
    this.opened.delete(descriptor);
    closeSync(descriptor);
  }
}

const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1');
