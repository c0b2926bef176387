/** Changes of the configuration. */
import type { ActionContext } from './control.js';
import type { Block, Directive, NewDirective } from './tree.js';

interface NewText {
  readonly text: string | NewDirective;
  /** The module lets callers choose only files that the configuration file allows: `api_folders` does not apply. */
  readonly areFilesChecked?: boolean;
}

/**
 * One edit of a transaction. `text` is one directive with its block, parsed alone: it cannot reach outside; or a directive made of
 * data, which may have text of a caller in its block. An addition goes in front of `before`, a directive of the same block, or to the end; to
 * the end only where a state file holds such directives.
 */
export type Edit =
  | (NewText & { readonly op: 'add'; readonly parent: Directive; readonly before?: Directive })
  | (NewText & { readonly op: 'replace'; readonly target: Directive })
  | { readonly op: 'remove'; readonly target: Directive };

export interface Applied {
  /** Version of the tree after it; grows by one with every transaction. */
  readonly version: number;
  /** For each edit the directive that is now in the tree (for `remove`: that was). */
  readonly directives: readonly Directive[];
  /** Of a dry run, the change as lines of a configuration diff: `+ server 10.0.0.1:80;`. Otherwise empty: it is not used. */
  readonly diff: readonly string[];
}

/** The one way to change the configuration: validated, journalled, effective in every worker when the promise resolves. Master only. */
export abstract class Transactions {
  /** The current tree. */
  abstract readonly tree: Block;
  abstract readonly version: number;
  /**
   * Version of one directive: another one as soon as it or anything in it has changed, the same after a restart. For `ETag` and `If-Match`.
   * The first time it is asked for after a change takes time that grows with the directive.
   */
  abstract versionOf(directive: Directive): string;
  /**
   * A directive as it would be in the tree, to look at what a caller sent. Only its form is checked, not what is in it.
   * @throws ApiError 400 `ConfigError`
   */
  abstract read(directive: NewDirective): Directive;
  /** True for a directive that the API added; false for one of the configuration file, also where the API changed it. */
  abstract isAddition(directive: Directive): boolean;
  /**
   * Carries out all edits or none. `build` runs when the transaction has its turn and sees the tree it will change; what it throws
   * reaches the caller and changes nothing. It runs again where what it was tried together with cannot take effect: it has no effect of its own.
   * @throws ApiError 400 `ConfigError` with every reason; 503 `DataPlaneUnavailable` when a worker did not respond in time.
   */
  abstract apply(build: (tree: Block) => readonly Edit[], context?: Partial<ActionContext>): Promise<Applied>;
  /**
   * Runs a step, which does not throw, when what the caller does is active: at once, or, where it is part of a transaction of several calls,
   * after that; never, if that fails or is a dry run. For effects other than changes of the configuration.
   */
  abstract whenInForce(step: () => void): void;
}
