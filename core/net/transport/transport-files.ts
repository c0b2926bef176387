import { closeSync, constants, fstatSync, openSync, readSync, stat, statSync } from 'node:fs';
import type { FileStatus, SystemFiles } from '../../contract/system-files.js';
import { callError } from './epoll/calls.js';
import { Errno } from './epoll/errno.js';
import type { FileCalls } from './epoll/file-calls.js';
import type { OpenDescriptors } from './open-descriptors.js';
import type { Clock } from '../clock.js';
import { RecentPaths } from './recent-paths.js';
import type { Transport } from './transport.js';

/** Nothing but opening waits for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Files by the calls of the event method that is chosen, or else by node:fs. */
export class TransportFiles implements SystemFiles {
  /** Has opened what is in {@link opened}. */
  #opener: Transport | undefined = undefined;
  /** To look such a path up takes one call: that it would not wait takes two more to find out. */
  readonly #recent: RecentPaths;

  constructor(
    private readonly transports: { readonly current: Transport },
    /** Descriptors that Node.js has not opened: it would warn of closing them. */
    private readonly opened: OpenDescriptors,
    clock: Pick<Clock, 'now'>,
  ) {
    this.#recent = new RecentPaths(clock);
  }

  get alwaysWaits(): boolean {
    return this.transports.current.files === undefined;
  }

  open(path: string, waits: true): number;
  open(path: string, waits?: boolean): number | undefined;
  open(path: string, waits = false): number | undefined {
    const { current } = this.transports;
    const { files } = current;
    if (files === undefined) return openSync(bytesOf(path), FLAGS);
    const descriptor = files.open(path, waits);
    if (descriptor >= 0) {
      this.#opener = current;
      this.opened.add(descriptor);
      return descriptor;
    }
    if (descriptor === -Errno.Again && !waits) return undefined;
    throw callError(descriptor, 'open');
  }

  statusOf(descriptor: number): FileStatus {
    const status = this.transports.current.files?.statusOf(descriptor);
    if (typeof status === 'number') throw callError(status, 'fstat');
    return status ?? fstatSync(descriptor);
  }

  status(path: string, waits: true): FileStatus;
  status(path: string, waits?: boolean): FileStatus | undefined;
  status(path: string, waits = false): FileStatus | undefined {
    const { files } = this.transports.current;
    const status = files && this.#look(files, path, waits);
    if (typeof status !== 'number') return status ?? statSync(bytesOf(path));
    if (status === -Errno.Again) return undefined;
    throw callError(status, 'stat');
  }

  find(path: string, waits: true): FileStatus | false;
  find(path: string, waits?: boolean): FileStatus | false | undefined;
  find(path: string, waits = false): FileStatus | false | undefined {
    const { files } = this.transports.current;
    if (files === undefined) return statSync(bytesOf(path), { throwIfNoEntry: false }) ?? false;
    const status = this.#look(files, path, waits);
    if (typeof status !== 'number') return status;
    if (status === -Errno.Again) return undefined;
    if (status === -Errno.NoEntry || status === -Errno.NoFolder) return false;
    throw callError(status, 'stat');
  }

  #look(files: FileCalls, path: string, waits: boolean): FileStatus | number {
    const isKnown = waits || this.#recent.has(path);
    const status = files.status(path, isKnown);
    if (!isKnown && typeof status !== 'number') this.#recent.add(path);
    return status;
  }

  prepare(path: string): Promise<void> {
    return new Promise((resolve) => {
      // An error is found again.
      stat(bytesOf(path), () => resolve());
    });
  }

  read(descriptor: number, into: Buffer, from: number): number | undefined {
    const { files } = this.transports.current;
    if (files === undefined) return readSync(descriptor, into, 0, into.length, from);
    const count = files.readCached(descriptor, into, from);
    if (count === -Errno.Again) return undefined;
    // Some files cannot be read in this way; and an error has its words.
    return count < 0 ? readSync(descriptor, into, 0, into.length, from) : count;
  }

  close(descriptor: number): void {
    if (this.opened.has(descriptor)) this.#opener?.closeFile?.(descriptor);
    else closeSync(descriptor);
  }
}

/** A path as node:fs takes it. */
function bytesOf(path: string): Buffer | string {
  return /[\x80-\xff]/.test(path) ? Buffer.from(path, 'latin1') : path;
}
