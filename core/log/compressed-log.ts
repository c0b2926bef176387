import type { LogCompression } from '../contract/log-file-options.js';
import type { OpenLog } from './open-log.js';

/** Characters that may wait while what was written before is compressed; more are lost. */
const MOST_WAITING = 4 * 1024 * 1024;

/** A log file of compressed blocks (`access_log … gzip`), each of which is whole for zcat: of all lines that fit in a buffer. */
export class CompressedLog implements OpenLog {
  /** Loaded where a log is compressed. */
  readonly #zlib = process.getBuiltinModule('node:zlib');
  #lines = '';
  /** The block that the thread pool is compressing. */
  #block: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param file that gets the blocks */
  constructor(
    private readonly file: OpenLog & { append(bytes: Buffer): void },
    private readonly compression: LogCompression,
  ) {}

  write(line: string): void {
    if (this.#lines.length > MOST_WAITING) return;
    this.#lines += `${line}\n`;
    if (this.#lines.length >= this.compression.buffer) this.#compress();
    else if (this.compression.flushMs !== undefined) this.#timer ??= setTimeout(() => this.#compress(), this.compression.flushMs).unref();
  }

  use(onLost: ((reason: string) => void) | undefined): this {
    this.file.use(onLost);
    return this;
  }

  close(isUnused?: boolean): void {
    this.file.close(isUnused);
  }

  /** At once: no later turn of the event loop may come. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = Buffer.concat([this.#block ?? Buffer.alloc(0), this.#take()]);
    this.#block = undefined;
    if (waiting.length > 0) this.file.append(this.#zlib.gzipSync(waiting, this.compression));
    this.file.flush();
  }

  reopen(): void {
    this.flush();
    this.file.reopen();
  }

  shut(): void {
    this.flush();
    this.file.shut();
  }

  /** In the thread pool: traffic goes on. */
  #compress(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#block !== undefined || this.#lines === '') return;
    const block = this.#take();
    this.#block = block;
    this.#zlib.gzip(block, this.compression, (error, compressed) => {
      // It was written by flush().
      if (this.#block !== block) return;
      this.#block = undefined;
      if (error === null) this.file.append(compressed);
      if (this.#lines.length >= this.compression.buffer || this.compression.flushMs !== undefined) this.#compress();
    });
  }

  #take(): Buffer {
    const lines = Buffer.from(this.#lines, 'utf8');
    this.#lines = '';
    return lines;
  }
}
