import type { FileStatus, SystemFiles } from '../../core/contract/system-files.js';

/** A file that may be open, with what a response says of it. */
export class OpenedFile {
  /** Seconds since 1970. */
  readonly modified: number;

  /** @param descriptor -1: it is not open */
  constructor(
    private readonly files: Pick<SystemFiles, 'close'>,
    readonly path: string,
    readonly stats: FileStatus,
    public descriptor: number,
  ) {
    this.modified = Math.floor(stats.mtimeMs / 1000);
  }

  /** The whole file, where it is in memory. */
  get content(): Buffer | undefined {
    return undefined;
  }

  /** Its opener does not need it any more. */
  release(): void {
    this.close();
  }

  protected close(): void {
    if (this.descriptor < 0) return;
    this.files.close(this.descriptor);
    this.descriptor = -1;
  }
}
