import { close, constants, fstatSync, open, read, type Stats } from 'node:fs';
import { bytesOf } from './file-errors.js';

/** Nothing but opening waits for the other end of a pipe, and a pipe is no file that is served. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** A file that was opened. What may wait for the disk is done by other threads; looking at what is open does not. */
export class OpenFile {
  private constructor(
    private readonly descriptor: number,
    readonly stats: Stats,
  ) {}

  static open(path: string): Promise<OpenFile> {
    return new Promise((resolve, reject) => {
      open(bytesOf(path), FLAGS, (error, descriptor) => {
        if (error !== null) {
          reject(error);
          return;
        }
        try {
          resolve(new OpenFile(descriptor, fstatSync(descriptor)));
        } catch (failure) {
          close(descriptor);
          reject(failure instanceof Error ? failure : new Error(String(failure)));
        }
      });
    });
  }

  /** Fewer bytes than asked for: the file ends there. */
  read(start: number, end: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(end - start);
    if (bytes.length === 0) return Promise.resolve(bytes);
    return new Promise((resolve, reject) => {
      read(this.descriptor, bytes, 0, bytes.length, start, (error, count) => {
        if (error === null) resolve(count === bytes.length ? bytes : bytes.subarray(0, count));
        else reject(error);
      });
    });
  }

  close(): void {
    close(this.descriptor);
  }
}
