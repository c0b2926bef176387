/** What the master and a worker thread say to each other. Messages arrive in the order they were sent. */
import type { FileContents } from '../config/input-files.js';
import type { EventMessage } from '../control/event-message.js';
import type { DirectiveData } from '../config/tree.js';
import type { EncodedTree } from '../config/tree-codec.js';
import type { LoadedFiles } from '../kernel/module-code.js';
import type { ZoneShare } from '../zone/zone-set.js';
import type { FailureData } from './failure.js';

/** What a worker thread is started with. */
export interface WorkerStart {
  readonly index: number;
  /** Its place in shared memory. A worker that is replaced keeps its own until it ends. */
  readonly place: number;
  readonly prefix: string;
  /** Folder of the configuration file. */
  readonly confFolder: string;
  /** Where lines go until the configuration says something else. */
  readonly errorLog: string;
  /** The `load_module` lines: what they name is loaded before the worker takes part in anything. */
  readonly modules: readonly DirectiveData[];
  /** The code of modules that the main thread has loaded. */
  readonly code: LoadedFiles;
  /** Memory of the figures of all workers. */
  readonly figures: SharedArrayBuffer;
  /** Workers that shared state has places for. */
  readonly workers: number;
  /** See {@link Identity.secret}. */
  readonly secret: Uint8Array;
}

/** What is in force at one moment between two transactions. */
export interface WorkerState {
  readonly tree: EncodedTree;
  /** The files that directives of it name, as the master has read them. */
  readonly files: FileContents;
  /** All zones there are; later ones come with a `prepare`. */
  readonly zones: readonly ZoneShare[];
  /** The state of every replicated channel. */
  readonly snapshots: readonly { readonly channel: string; readonly snapshot: unknown }[];
}

export type ToWorker =
  | { readonly kind: 'boot'; readonly state: WorkerState }
  /** Open the sockets and serve: what was sent before is in force by now, and all that follows is waited for. */
  | { readonly kind: 'open' }
  | {
      readonly kind: 'prepare';
      readonly tx: number;
      /** JSON of `TreeOperation[]`. */
      readonly operations: string;
      readonly rereads: boolean;
      /** What the master has read for it. */
      readonly files: FileContents;
      readonly zones: readonly ZoneShare[];
    }
  | { readonly kind: 'commit'; readonly tx: number }
  | { readonly kind: 'abort'; readonly tx: number }
  | { readonly kind: 'publish'; readonly id: number; readonly channel: string; readonly data: unknown }
  | { readonly kind: 'reopen' }
  /** Close connections whose request began before that time (epoch milliseconds). */
  | { readonly kind: 'cutOff'; readonly time: number }
  /** Respond at once, whatever else there is to do. */
  | { readonly kind: 'ping' }
  /** Take no new connections, end when the last request is finished, or when the time is over. */
  | { readonly kind: 'quit'; readonly timeoutMs: number | undefined }
  /** End now. */
  | { readonly kind: 'stop' };

export type FromWorker =
  /** Its modules are there: it can take the state. */
  | { readonly kind: 'loaded' }
  /** It has the state in force, and no sockets yet. */
  | { readonly kind: 'booted' }
  /** It serves. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly failure: FailureData }
  /** An error nobody expected: it serves until it is replaced. */
  | { readonly kind: 'failing'; readonly reason: string }
  | { readonly kind: 'prepared'; readonly tx: number; readonly failure?: FailureData }
  | { readonly kind: 'committed'; readonly tx: number }
  | { readonly kind: 'published'; readonly id: number }
  /** It happened there. */
  | { readonly kind: 'event'; readonly event: EventMessage }
  | { readonly kind: 'pong' };
