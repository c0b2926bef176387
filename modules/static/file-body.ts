import { read, readSync } from 'node:fs';
import type { BodySource, HttpRequest } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { shown } from './file-errors.js';
import type { OpenedFile } from './opened-file.js';

/** The body of a response that is a file. */
export class FileBody implements BodySource {
  /** @param threads whether other threads read (`aio threads`) */
  constructor(
    private readonly opened: OpenedFile,
    private readonly request: HttpRequest,
    private readonly log: Log,
    private readonly threads: boolean,
  ) {}

  get length(): number {
    return this.opened.stats.size;
  }

  /** Other threads read all of it. */
  get descriptor(): number {
    return this.threads || this.opened.content !== undefined ? -1 : this.opened.descriptor;
  }

  read(into: Buffer, offset: number): number | Promise<number> {
    const { content, descriptor } = this.opened;
    if (content !== undefined) return content.copy(into, 0, offset, offset + into.length);
    if (this.threads) return this.#readElsewhere(into, offset);
    try {
      return this.#counted(readSync(descriptor, into, 0, into.length, offset), into, offset);
    } catch (error) {
      return this.#failed(error);
    }
  }

  close(): void {
    this.opened.release();
  }

  #readElsewhere(into: Buffer, offset: number): Promise<number> {
    return new Promise((resolve) => {
      read(this.opened.descriptor, into, 0, into.length, offset, (error, count) =>
        resolve(error === null ? this.#counted(count, into, offset) : this.#failed(error)),
      );
    });
  }

  /** A file that has become shorter ends the response, whose length is out. */
  #counted(count: number, into: Buffer, offset: number): number {
    if (count > 0) return count;
    const text = `pread() read only 0 of ${into.length} bytes at ${offset} from "${shown(this.opened.path)}"`;
    this.log.write('alert', text, this.request);
    return 0;
  }

  #failed(error: unknown): number {
    this.log.write('crit', `pread() "${shown(this.opened.path)}" failed (${systemErrorText(error)})`, this.request);
    return 0;
  }
}
