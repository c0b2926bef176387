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
  /** How it differs from another version of the block. Between versions that follow each other it takes the time that the changes took. */
  changesSince(earlier: Block): BlockChanges;
}

/** The directives that only one of two versions of a block has, as the same objects: one that was changed is in both lists. */
export interface BlockChanges {
  readonly gone: Iterable<Directive>;
  readonly come: Iterable<Directive>;
}

/** A directive that a module makes for an `Edit`. Each of its words stays one word, whatever characters it has. */
export interface NewDirective {
  readonly name: string;
  readonly words: readonly string[];
  /** JSON pointer of the field that it is made of: errors name it. */
  readonly pointer?: string;
  /** Content of its block; absent: it has none. */
  readonly block?: readonly BlockPart[];
}

/** Content of the block of a new directive: another one, or text that a caller of the API sent. */
export type BlockPart = NewDirective | SentText;

/** Directives as a caller of the API sent them. They are parsed alone, so that they cannot end the block and cannot include files. */
export interface SentText {
  /** The last `;` may be left out. */
  readonly text: string;
  /** JSON pointer of the field: errors name it, with line and column in the text. */
  readonly pointer: string;
}
