import { close, read, write } from 'node:fs';
import type { Request } from './request.js';
import { failureOf, openTemporaryFile } from '../site/temporary-path.js';

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
 * A request body that is longer than client_body_buffer_size, in a temporary file: written once as it comes from the client, then read
 * as often as somebody wants it. Whoever holds it has to close it.
 */
export class RequestFile {
  /** Bytes of the body, with those that are still on their way to the disk. */
  length = 0;
  #fd = -1;
  #path = '';
  #writer: FileWriter | undefined;
  /** What comes while the disk is at work. It leaves in one write. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #written = 0;
  /** Calls of the system under way. The descriptor is theirs until they are back: as soon as it is closed it may be another file's. */
  #calls = 1;
  #closed = false;

  constructor(
    private readonly request: Request,
    writer: FileWriter,
  ) {
    this.#writer = writer;
    const { context } = request;
    openTemporaryFile(
      request.location.settings.clientBodyTempPath,
      () => context.nextTemporaryFile(),
      (failure, fd, path) => this.#opened(failure, fd, path),
    );
  }

  /** Everything is on the disk. */
  get isWritten(): boolean {
    return this.#written === this.length;
  }

  /** More waits than should. */
  get isFull(): boolean {
    return this.#waitingBytes >= HIGH_WATER;
  }

  /** The bytes stay valid. */
  append(chunk: Buffer): void {
    this.length += chunk.length;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#calls === 0) this.#write(this.#takeWaiting());
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
    this.#waiting = [];
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
    this.#log('warn', `a client request body is buffered to a temporary file ${path}`);
    this.#write(this.#takeWaiting());
  }

  #takeWaiting(): Buffer {
    const { length, 0: only } = this.#waiting;
    const batch = length === 1 && only !== undefined ? only : Buffer.concat(this.#waiting, this.#waitingBytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return batch;
  }

  #write(batch: Buffer): void {
    this.#calls++;
    write(this.#fd, batch, 0, batch.length, this.#written, (error, bytes) => {
      if (!this.#isBack()) return;
      if (error !== null) {
        this.#fail(failureOf('pwrite', this.#path, error));
        return;
      }
      this.#written += bytes;
      // The disk is about to be full: the next call says so.
      if (bytes < batch.length) this.#write(batch.subarray(bytes));
      else {
        if (this.#waiting.length > 0) this.#write(this.#takeWaiting());
        this.#writer?.onFileWritten();
      }
    });
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
    this.request.context.log.write(level, text, this.request);
  }
}
