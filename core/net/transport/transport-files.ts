import { closeSync, constants, fstatSync, open, openSync, statSync } from 'node:fs';
import type { FileStatus, SystemFiles } from '../../contract/system-files.js';
import { callError } from './epoll/calls.js';
import { Errno } from './epoll/errno.js';
import type { FileCalls } from './epoll/file-calls.js';
import type { OpenDescriptors } from './open-descriptors.js';
import type { Transport } from './transport.js';

/** Nothing but opening waits for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Files by the calls of the event method that is chosen, or else by node:fs. */
export class TransportFiles implements SystemFiles {
  /** Closes what is in {@link opened}. */
  #calls: FileCalls | undefined = undefined;

  constructor(
    private readonly transports: { readonly current: Transport },
    /** Descriptors that Node.js has not opened: it would warn of closing them. */
    private readonly opened: OpenDescriptors,
  ) {}

  open(path: string): number | undefined {
    const { files } = this.transports.current;
    if (files === undefined) return openSync(bytesOf(path), FLAGS);
    const descriptor = files.open(path);
    if (descriptor >= 0) {
      this.#calls = files;
      this.opened.add(descriptor);
      return descriptor;
    }
    if (descriptor === -Errno.Again || descriptor === -Errno.Interrupted) return undefined;
    throw callError(descriptor, 'open');
  }

  openLater(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      open(bytesOf(path), FLAGS, (error, descriptor) => {
        if (error === null) resolve(descriptor);
        else reject(error);
      });
    });
  }

  statusOf(descriptor: number): FileStatus {
    const status = this.transports.current.files?.statusOf(descriptor);
    if (typeof status === 'number') throw callError(status, 'fstat');
    return status ?? fstatSync(descriptor);
  }

  status(path: string): FileStatus {
    const status = this.transports.current.files?.status(path);
    if (typeof status === 'number') throw callError(status, 'stat');
    return status ?? statSync(bytesOf(path));
  }

  find(path: string): FileStatus | undefined {
    const { files } = this.transports.current;
    if (files === undefined) return statSync(bytesOf(path), { throwIfNoEntry: false });
    const status = files.status(path);
    if (typeof status !== 'number') return status;
    if (status === -Errno.NoEntry || status === -Errno.NoFolder) return undefined;
    throw callError(status, 'stat');
  }

  close(descriptor: number): void {
    if (this.#calls === undefined || !this.opened.has(descriptor)) closeSync(descriptor);
    else {
      this.opened.delete(descriptor);
      this.#calls.close(descriptor);
    }
  }
}

/** A path as node:fs takes it. */
function bytesOf(path: string): Buffer | string {
  return /[\x80-\xff]/.test(path) ? Buffer.from(path, 'latin1') : path;
}
