/** What a scope may depend on or hold open beside its configuration: files, and what is opened while it is compiled. */

/** A file that a directive names, as {@link Scope.file} reads it. */
export interface InputFile {
  readonly path: string;
  readonly bytes: Buffer;
  /** The bytes as UTF-8. */
  readonly text: string;
  /** Rejects the configuration at a line of the file (1-based). Throws. */
  fail(line: number, message: string, hint?: string): never;
  /** Takes a step with each item, and throws all that they {@link fail} for at the end: every error of the file is reported. */
  each<T, R>(items: Iterable<T>, step: (item: T) => R): R[];
}

/**
 * Something that `compile` has opened. Of `commit` and `abort` exactly one is called, and neither may throw; `release` follows on `commit`
 * when the scope is out of force and the last request that began before is over.
 */
export interface Resource {
  /** The configuration is in force from now on. */
  commit?(): void;
  /** The configuration was rejected, or it was a check or a dry run. */
  abort?(): void;
  release?(): void;
}
