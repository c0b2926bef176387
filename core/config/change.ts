import type { Tree, TreeOperation } from '../config/tree.js';
import type { EventsConf, MainConf } from './core-directives.js';
import type { RunningModules } from './running-modules.js';

/** A change of the tree, the same in the master, every worker and the control process. */
export interface Change {
  readonly before: Tree;
  readonly after: Tree;
  /** What was done; a follower whose parts are not touched by any of it has nothing to do. */
  readonly operations: readonly TreeOperation[];
  /** Files that directives name (certificates) may have other contents than before, also where the tree is the same: a reload. */
  readonly rereads: boolean;
  /** The modules in force after the change: another object than before only if `load_module` lines came or went. */
  readonly modules: RunningModules;
  /** The main level and the `events` block after the change. */
  readonly main: MainConf;
  readonly events: EventsConf;
  /** Tells the operator of what is taken but probably not meant so; in the master only. */
  readonly warn: (message: string) => void;
}

/** Work that is ready: nothing of it is visible yet. Exactly one of the two is called, and neither throws. */
export interface Prepared {
  commit(): void;
  abort(): void;
}

/** A part of a thread that follows the configuration tree: upstreams, the HTTP engine. */
export interface Follower {
  /**
   * Builds everything the change needs (compiled scopes, opened listeners, zone records) without any effect on traffic.
   * @throws ConfigErrors with every reason it cannot.
   */
  prepare(change: Change): Prepared | Promise<Prepared>;
  /** True if what is in force was made of this input, see `Holdings.inputs`: a file that nobody uses is forgotten at a reload. */
  uses?(input: string): boolean;
  /**
   * Takes nothing new and resolves when the last request is finished, or, after `timeoutMs` milliseconds, has been cut off.
   * Without a time it may take as long as the requests do.
   */
  quit?(timeoutMs: number | undefined): Promise<void>;
  /** Closes connections whose request began before `time` (epoch milliseconds): worker_shutdown_timeout is over after a reload. */
  cutOff?(time: number): void;
  /** Ends everything now. Also after half a start, and after {@link quit}. */
  stop?(): void | Promise<void>;
}
