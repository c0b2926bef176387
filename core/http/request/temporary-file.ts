import { close, read, write } from 'node:fs';
import { ByteQueue } from '../../net/byte-queue.js';
import { failureOf, openTemporaryFile, type FilePlan } from '../site/temporary-path.js';
import type { Request } from './request.js';

/** Bytes that wait for the disk before the client is told to wait. */
const HIGH_WATER = 65_536;

/** Who fills a file. */
export interface FileWriter {
  /** Something was written: there is room for more. */
  onFileWritten(): void;
  /** It is of no use; the log says why. */
  onFileFailed(): void;
}

/**
 * A body that is longer than the memory it may take, in a temporary file: written as it comes, read as often as somebody wants it. Whoever
 * holds it has to close it.
 */
export class TemporaryFile {
  /** Bytes in it, with those that are still on their way to the disk. */
  length = 0;
  #fd = -1;
  #path = '';
  #writer: FileWriter | undefined;
  /** What comes while the disk is at work. */
  readonly #waiting = new ByteQueue();
  /** Read buffers that are needed until everything is written. */
  readonly #kept: Buffer[] = [];
  #written = 0;
  /** Calls of the system under way. The descriptor is theirs until they are back: as soon as it is closed it may be another file's. */
  #calls = 1;
  #writing = false;
  #closed = false;

  constructor(
    private readonly request: Request,
    private readonly plan: FilePlan,
    writer: FileWriter,
  ) {
    this.#writer = writer;
    const { context } = request;
    openTemporaryFile(
      plan.path,
      () => context.nextTemporaryFile(),
      (failure, fd, path) => this.#opened(failure, fd, path),
    );
  }

  /** Everything is on the disk. */
  get isWritten(): boolean {
    return this.#written === this.length;
  }

  /** Bytes that are on the disk. */
  get written(): number {
    return this.#written;
  }

  /** Something is on its way to the disk, or waits for it. */
  get isBusy(): boolean {
    return this.#writing || !this.#waiting.isEmpty;
  }

  /** More waits than should. */
  get isFull(): boolean {
    return this.#waiting.length >= HIGH_WATER;
  }

  /**
   * @param borrowed the bytes are only valid during the call
   * @param kept the buffer that they are in: it comes back through `ReadBuffers.give`
   */
  append(chunk: Buffer, borrowed: boolean, kept?: Buffer): void {
    this.length += chunk.length;
    this.#waiting.push(chunk, borrowed);
    if (kept !== undefined) this.#kept.push(kept);
    if (this.#fd >= 0 && !this.#writing) this.#writeWaiting();
  }

  /** Forgets what is in it, all of which has been read: what follows overwrites it. Not while {@link isWritten} is false. */
  rewind(): void {
    this.length = this.#written = 0;
  }

  /**
   * Reads from byte `at` on.
   * @param done gets the number of bytes, 0 if that failed (the log says why). It is not called after {@link close}.
   */
  read(buffer: Buffer, at: number, done: (bytes: number) => void): void {
    this.#calls++;
    read(this.#fd, buffer, 0, buffer.length, at, (error, bytes) => {
      if (!this.#isBack()) return;
      if (error !== null) this.#log('crit', failureOf('pread', this.#path, error));
      done(error === null ? bytes : 0);
    });
  }

  /** It is gone with that: it has no name any more. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer = undefined;
    this.#waiting.clear();
    if (this.#calls === 0) this.#closeDescriptor();
  }

  #opened(failure: string, fd: number, path: string): void {
    this.#fd = fd;
    this.#path = path;
    if (!this.#isBack()) return;
    if (failure !== '') {
      this.#fail(failure);
      return;
    }
    this.#log('warn', `${this.plan.what} ${path}`);
    if (!this.#waiting.isEmpty) this.#writeWaiting();
  }

  #writeWaiting(): void {
    this.#writing = true;
    this.#write(this.#waiting.takeWhole(), 0);
  }

  #write(batch: Buffer, from: number): void {
    this.#calls++;
    write(this.#fd, batch, from, Math.min(batch.length - from, this.plan.writeSize), this.#written, (error, bytes) => {
      if (!this.#isBack()) return;
      if (error !== null) {
        this.#fail(failureOf('pwrite', this.#path, error));
        return;
      }
      this.#written += bytes;
      // Of a disk that is about to be full the next call says so.
      if (from + bytes < batch.length) this.#write(batch, from + bytes);
      else if (!this.#waiting.isEmpty) this.#writeWaiting();
      else this.#rest();
      this.#writer?.onFileWritten();
    });
  }

  #rest(): void {
    this.#writing = false;
    for (const buffer of this.#kept) this.request.context.buffers.give(buffer);
    this.#kept.length = 0;
  }

  /** A call has come back. False: nobody waits for it any more. */
  #isBack(): boolean {
    this.#calls--;
    if (!this.#closed) return true;
    if (this.#calls === 0) this.#closeDescriptor();
    return false;
  }

  #fail(text: string): void {
    const writer = this.#writer;
    this.#log('crit', text);
    this.close();
    writer?.onFileFailed();
  }

  #closeDescriptor(): void {
    if (this.#fd >= 0) close(this.#fd, () => undefined);
  }

  #log(level: 'warn' | 'crit', text: string): void {
    this.request.context.log.write(level, text + this.plan.when, this.request);
  }
}
