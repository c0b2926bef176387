/** Files by path. */
export type FileContents = ReadonlyMap<string, Uint8Array>;

/** Files that this process may not read. One with more rights has read them: they count where the system does not let this one. */
export class GrantedFiles {
  constructor(public contents: FileContents = new Map()) {}

  /**
   * Entry for a file that could not be read.
   * @throws the error of the system, where nothing does
   */
  instead(path: string, error: unknown): Buffer {
    const bytes = (error as NodeJS.ErrnoException).code === 'EACCES' ? this.contents.get(path) : undefined;
    if (bytes === undefined) throw error;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}
