/** How a log is written. */
export interface LogFileOptions {
  /** Called with the reason when lines cannot be written and are lost: once, and again after lines that could be. */
  readonly onLost?: ((reason: string) => void) | undefined;
  /** Lines are written in compressed blocks. */
  readonly gzip?: LogCompression | undefined;
  /** The content is secret: the owner alone may read the file (0600), also an existing one. */
  readonly secret?: boolean | undefined;
  /** Missing directories are made, for the owner alone (0700). */
  readonly makesFolder?: boolean | undefined;
}

/** Options of compressed blocks. */
export interface LogCompression {
  /** 1 to 9. */
  readonly level: number;
  /** Bytes (about) of lines that a block is made of. */
  readonly buffer: number;
  /** Milliseconds after which lines are written although they do not fill a block. */
  readonly flushMs: number | undefined;
}
