import type { LogLevel } from '../contract/log.js';
import type { ModulesInForce } from './modules-in-force.js';
import type { Tree, TreeOperation } from './tree.js';

/** A change of the tree, the same in the master, every worker and the control process. */
export interface Change {
  readonly before: Tree;
  readonly after: Tree;
  /** The operations; a follower that none of them concerns has nothing to do. */
  readonly operations: readonly TreeOperation[];
  /** Files that directives name (certificates) may have other contents than before, also where the tree is the same: a reload. */
  readonly rereads: boolean;
  /** The modules after the change: another object than before only if `load_module` lines were added or removed. */
  readonly modules: ModulesInForce;
  /** The main level and the `events` block after the change, what is followed of them. */
  readonly main: { readonly error_log: readonly { readonly path: string; readonly level: LogLevel; readonly json: boolean }[] };
  readonly events: { readonly worker_connections: number; readonly use?: string | undefined; readonly io_uring: boolean };
  /** Warns the operator of valid directives that were probably meant differently; in the master only. */
  readonly warn: (message: string) => void;
}

/** Work that is ready: nothing of it is visible yet. Exactly one of the two is called, and neither throws. */
export interface Prepared {
  commit(): void;
  abort(): void;
}

/** How a thread ends that finishes its requests first. Plain data: it travels between threads. */
export interface GracefulEnd {
  /** Milliseconds that it may take; undefined: as long as the requests take. */
  readonly timeoutMs: number | undefined;
  /**
   * Others accept connections at the same addresses: idle connections wait for one more request, for as long as they may be idle. A client that
   * sends it at the moment of a close would see a reset.
   */
  readonly waitsForIdle: boolean;
}

/** A part of a thread that follows the configuration tree: upstreams, the HTTP engine. */
export interface Follower {
  /**
   * Builds everything the change needs (compiled scopes, opened listeners, zone records) without any effect on traffic.
   * @throws ConfigErrors with every reason it cannot.
   */
  prepare(change: Change): Prepared | Promise<Prepared>;
  /** True if the current configuration depends on this input, see `Holdings.inputs`: an unused file is forgotten at a reload. */
  uses?(input: string): boolean;
  /** Takes nothing new and resolves when the last request is finished, or, after `timeoutMs` milliseconds, has been cut off. */
  quit?(end: GracefulEnd): Promise<void>;
  /** Calls `step` when the requests are over that began before the last commit. */
  whenOver?(step: () => void): void;
  /** Closes connections whose request began before `time` (epoch milliseconds): worker_shutdown_timeout is over after a reload. */
  cutOff?(time: number): number;
  /** Ends everything now. Also after half a start, and after {@link quit}. */
  stop?(): void | Promise<void>;
}
