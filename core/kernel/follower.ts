import type { Tree, TreeOperation } from '../config/tree.js';

/** A change of the tree, the same in the master, every worker and the control process. */
export interface Change {
  readonly before: Tree;
  readonly after: Tree;
  /** What was done; a follower whose parts are not touched by any of it has nothing to do. */
  readonly operations: readonly TreeOperation[];
}

/** Work that is ready: nothing of it is visible yet. Exactly one of the two is called, and neither throws. */
export interface Prepared {
  commit(): void;
  abort(): void;
}

/** A part of a thread that follows the configuration tree: upstream groups, the HTTP engine. */
export interface Follower {
  /**
   * Builds everything the change needs (compiled scopes, opened listeners, zone records) without any effect on traffic.
   * @throws ConfigErrors with every reason it cannot.
   */
  prepare(change: Change): Prepared | Promise<Prepared>;
}
