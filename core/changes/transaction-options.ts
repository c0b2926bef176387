import type { FileContents } from '../config/granted-files.js';
import type { ModuleShare } from '../config/module-share.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, IdSource, TreeOperation } from '../config/tree.js';
import type { Log } from '../contract/log.js';
import type { ArgContext } from '../contract/spec.js';
import type { FileFolders } from './api-files.js';
import type { ChangeContent } from './change-content.js';
import type { CommitLog } from './commit-log.js';
import type { CommittedChange } from './change-event.js';
import type { NodeStatus } from './log-follower.js';
import type { Participant } from './participant.js';
import type { ConfigurationFiles } from './save-configuration.js';
import type { Staging } from './staging.js';
import type { Store } from './store.js';
import type { StoreState } from './store-state.js';

/** Parts of the server in the master that transactions need. */
export interface MasterInstance {
  readonly tree: ConfigTree;
  readonly modules: ModuleSpecs;
  /** Makes a call of a module's code, which may loop. @throws Error when it takes too long */
  limited?<T>(call: () => T): T;
  /**
   * Validates and compiles without any effect. Exactly one of `commit` and `abort` follows.
   * @param known rereads: files that directives name may have changed; after: the tree after the operations; isChecked: the check of the configuration
   * has loaded the modules
   * @throws ConfigErrors
   */
  prepare(
    operations: readonly TreeOperation[],
    known?: { readonly rereads?: boolean; readonly after?: ConfigTree; readonly isChecked?: boolean },
  ): Promise<{ readonly files?: FileContents; readonly modules?: ModuleShare | undefined; commit(): void; abort(): void }>;
}
/** A configuration as it is in its files, checked, and the modules it asks for. */
export interface LoadedConfiguration {
  readonly tree: ConfigTree;
  readonly modules: ModuleSpecs;
}
export interface ModuleSpecs {
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
}

export interface TransactionOptions {
  readonly instance: MasterInstance;
  readonly store: Store;
  /** The workers at this moment. */
  readonly participants: () => Iterable<Participant>;
  readonly ids: IdSource;
  readonly log: Log;
  readonly staging: Staging;
  /** The order of changes. */
  readonly commitLog: CommitLog<ChangeContent, StoreState>;
  /** Name of this node. */
  readonly nodeName: () => string;
  /** Called when this node can follow the log, or cannot any more. */
  readonly onNode?: (status: NodeStatus) => void;
  /** Files that the configuration was read from. */
  readonly files: ConfigurationFiles;
  /** Bytes of heap that a worker has. */
  readonly heapSize: () => number;
  /** Called when a change is active in all workers. */
  readonly onInForce?: () => void;
  /** Called when a change is on disk and workers are about to commit it. */
  readonly onCommitted?: (change: CommittedChange) => void;
  readonly limits?: Partial<TransactionLimits>;
  /** Folders whose files the API may name; absent: all. */
  readonly apiFolders?: () => FileFolders;
  /** Folders of the server: callers see paths in them without their names. */
  readonly folders?: readonly string[];
}
export interface TransactionLimits {
  /** How long workers may take to prepare a change of the API, and then to commit it; and the same for a reload (ms). */
  readonly api: number;
  readonly reload: number;
}
