import type { FileContents } from '../config/input-files.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, IdSource, TreeOperation } from '../config/tree.js';
import type { Log } from '../module/services.js';
import type { ArgContext } from '../module/spec.js';
import type { CommittedChange } from './change-event.js';
import type { Participant } from './participant.js';
import type { ConfigurationFiles } from './save-configuration.js';
import type { Staging } from './staging.js';
import type { Store } from './store.js';

/** What the transactions need of the server in the master. */
export interface MasterInstance {
  readonly tree: ConfigTree;
  readonly modules: ModuleSpecs;
  /** Makes a call of a module's code, which may loop. @throws Error when it takes too long */
  limited?<T>(call: () => T): T;
  /**
   * Validates and compiles without any effect. Exactly one of `commit` and `abort` follows.
   * @param known rereads: files that directives name may have changed; after: the tree after the operations
   * @throws ConfigErrors
   */
  prepare(
    operations: readonly TreeOperation[],
    known?: { readonly rereads?: boolean; readonly after?: ConfigTree },
  ): Promise<{ readonly files?: FileContents; commit(): void; abort(): void }>;
}
/** A configuration as it stands in its files, checked, and the modules it asks for. */
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
  /** Those that the configuration was read from. */
  readonly files: ConfigurationFiles;
  /** Bytes of heap that a worker has. */
  readonly heapSize: () => number;
  /** Called when a change is on disk and workers are told to put it in force. */
  readonly onCommitted?: (change: CommittedChange) => void;
  readonly limits?: Partial<TransactionLimits>;
  /** Folders of the server: callers see paths in them without their names. */
  readonly folders?: readonly string[];
}
export interface TransactionLimits {
  /** How long workers may take to prepare a change of the API, and then to put it in force; and the same for a reload (ms). */
  readonly api: number;
  readonly reload: number;
}
