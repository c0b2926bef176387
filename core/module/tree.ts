/** The configuration tree as modules see it: immutable directives, each with the place it was written at. */

/** Where something was written: 1-based line and column; `from` is the `include` line that brought the file in. */
export interface Source {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly from?: Source;
}

/** One argument of a directive, after quotes and escapes are resolved. */
export interface Word {
  readonly text: string;
  /** The quote it was written in; printing writes it back. */
  readonly quote?: '"' | "'";
  readonly line: number;
  readonly column: number;
}

/** One directive. Immutable; a change makes a new object with the same {@link id}. */
export interface Directive {
  /** Identity inside one process: a replaced directive keeps it, so that what hangs on it stays. */
  readonly id: number;
  readonly name: string;
  readonly args: readonly Word[];
  readonly block?: Block;
  readonly source: Source;
  /** Lasting identity that its owner gave it (the id of an upstream member). It survives reload and restart. */
  readonly key?: number;
}

/** A directive as it is written, without what the tree knows of it. */
export type Written = Pick<Directive, 'name' | 'args' | 'source'>;

/** The directives of one block in order. Copying one with a change costs O(√n). */
export interface Block extends Iterable<Directive> {
  readonly size: number;
  /** The directives called `name`, in order. */
  named(name: string): Iterable<Directive>;
}
