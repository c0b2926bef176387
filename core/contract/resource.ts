/** Dependencies and resources of a scope beside its configuration: files, and resources opened while it is compiled. */

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
 * Something that `compile` has opened. Of `commit` and `abort` exactly one is called, and neither may throw; `retire` follows on `commit`
 * when the scope is not active any more, and `release` when the scope is not active any more and the last request that began before is over. Each is ended after 5 seconds.
 */
export interface Resource {
  /** The configuration takes effect after it, and is rejected where it rejects with what {@link BlockScope.fail} throws. */
  readonly ready?: Promise<void>;
  /** The configuration is active from now on. */
  commit?(): void;
  /** The configuration was rejected, or it was a check or a dry run. */
  abort?(): void;
  /** The scope is not active any more from now on: its location was removed, or compiled again. Requests that began before go on. */
  retire?(): void;
  release?(): void;
}
