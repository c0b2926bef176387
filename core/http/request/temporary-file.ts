import { close, read, unlink, write } from 'node:fs';
import { ByteQueue } from '../../net/byte-queue.js';
import { failureOf, openTemporaryFile, type FilePlan } from '../site/temporary-path.js';
import type { ReadBuffers } from '../../net/buffers.js';
import type { HttpRequest } from '../../contract/http.js';
import type { Log } from '../../contract/log.js';

/** Bytes that wait for the disk before the client has to wait. */
const HIGH_WATER = 65_536;

/** The request that a body belongs to, as its store knows it. */
export interface StoreOwner extends HttpRequest {
  readonly context: {
    readonly buffers: ReadBuffers;
    readonly log: Log;
    /** Number for the name of a new file. */
    nextTemporaryFile(): number;
  };
}

/** Writer of a file. */
export interface FileWriter {
  /** Something was written: there is room for more. */
  onFileWritten(): void;
  /** It is of no use; the log says why. */
  onFileFailed(): void;
}

/**
 * A body that is longer than the memory it may take, in a temporary file: written as it arrives, read any number of times. Its owner has to close it.
 */
export class TemporaryFile {
  /** Bytes in it, including bytes that are still on their way to the disk. */
  length = 0;
  #fd = -1;
  /** Its name; empty until it is open. */
  path = '';
  #writer: FileWriter | undefined;
  /** Data received while the disk is busy. */
  readonly #waiting = new ByteQueue();
  /** Read buffers that are needed until everything is written. */
  readonly #kept: Buffer[] = [];
  /** Bytes on their way to the disk in other memory. */
  #copied = 0;
  #written = 0;
  /** Calls of the system under way. The descriptor is theirs until they are back: as soon as it is closed it may be another file's. */
  #calls = 1;
  #writing = false;
  #closed = false;

  constructor(
    private readonly owner: StoreOwner,
    private readonly plan: FilePlan,
    writer: FileWriter,
  ) {
    this.#writer = writer;
    const { context } = owner;
    openTemporaryFile(
      plan,
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

  /** Bytes that are on their way to the disk, or wait for it. */
  get unwritten(): number {
    return this.length - this.#written;
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
    else this.#count(chunk.length);
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
      if (error !== null) this.#log('crit', failureOf('pread', this.path, error));
      done(error === null ? bytes : 0);
    });
  }

  /** It is gone with that, unless its plan says that it stays. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer = undefined;
    this.#waiting.clear();
    this.#count(-this.#copied);
    for (const buffer of this.#kept) this.owner.context.buffers.lose(buffer);
    this.#kept.length = 0;
    if (this.#calls === 0) this.#closeDescriptor();
  }

  #opened(failure: string, fd: number, path: string): void {
    this.#fd = fd;
    this.path = path;
    if (!this.#isBack()) return;
    if (failure !== '') {
      this.#fail(failure);
      return;
    }
    this.#log(this.plan.level, `${this.plan.what} ${path}`);
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
        this.#fail(failureOf('pwrite', this.path, error));
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
    this.#count(-this.#copied);
    for (const buffer of this.#kept) this.owner.context.buffers.give(buffer);
    this.#kept.length = 0;
  }

  #count(bytes: number): void {
    this.#copied += bytes;
    this.owner.context.buffers.count(bytes);
  }

  /** A call has returned. False: it is not waited for any more. */
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
    if (this.#fd < 0) return;
    close(this.#fd, () => undefined);
    if (this.plan.name === 'until-closed') unlink(this.path, () => undefined);
  }

  #log(level: 'notice' | 'warn' | 'crit', text: string): void {
    this.owner.context.log.write(level, text + this.plan.when, this.owner);
  }
}
