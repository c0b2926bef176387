/** Messages between the master and a worker thread. Messages arrive in the order they were sent. */
import type { OpenMemory } from '../net/transport/open-descriptors.js';
import type { GracefulEnd } from '../config/change.js';
import type { FileContents } from '../config/granted-files.js';
import type { EventMessage } from '../api/event-message.js';
import type { ToldMessage } from '../kernel/channel-hub.js';
import type { Installation } from '../kernel/installation.js';
import type { DirectiveData } from '../config/tree.js';
import type { EncodedTree } from '../config/tree-codec.js';
import type { ModuleShare } from '../config/module-share.js';
import type { ZoneShare } from '../zone/zone-set.js';
import type { SocketResult } from '../net/asked-sockets.js';
import type { SocketRequest } from '../net/socket-source.js';
import type { FailureData } from './failure.js';

/** Start data of a worker thread. */
export interface WorkerStart {
  /** With the modules that the main thread has found. */
  readonly installation: Installation;
  readonly index: number;
  /** Its place in shared memory. A worker that is replaced keeps its own until it ends. */
  readonly place: number;
  readonly prefix: string;
  /** Folder of the configuration file. */
  readonly confFolder: string;
  /** Where lines go until the configuration says something else. */
  readonly errorLog: string;
  /** The `load_module` lines: what they name is loaded before the worker takes part in anything. */
  readonly lines: readonly DirectiveData[];
  /** Their meaning, and its code. */
  readonly modules: ModuleShare;
  /** Memory of the figures of all workers. */
  readonly figures: SharedArrayBuffer;
  /** Memory of {@link ControlListeners}. */
  readonly control: SharedArrayBuffer;
  /** Workers that shared state has places for. */
  readonly workers: number;
  /** See {@link Identity.secret}. */
  readonly secret: Uint8Array;
  /** The master has its sockets, or some of them: it asks for each. */
  readonly asksForSockets: boolean;
  /** Its replacement gets the same sockets. */
  readonly socketsStay: boolean;
}

/** All that a worker thread is made with. */
export interface WorkerData extends WorkerStart {
  /** Memory of its {@link LifeSigns}. */
  readonly signs: SharedArrayBuffer;
  /** See {@link OpenDescriptors}. */
  readonly descriptors: OpenMemory;
}

/** The state at one moment between two transactions. */
export interface WorkerState {
  readonly tree: EncodedTree;
  /** The files that directives of it name, as the master has read them. */
  readonly files: FileContents;
  readonly modules: ModuleShare;
  /** All zones there are; later ones come with a `prepare`. */
  readonly zones: readonly ZoneShare[];
  /** The state of every replicated channel. */
  readonly snapshots: readonly { readonly channel: string; readonly snapshot: unknown }[];
}

export type ToWorker =
  | { readonly kind: 'boot'; readonly state: WorkerState }
  /** Open the sockets and serve: earlier messages have taken effect by now, and all later ones are waited for. */
  | { readonly kind: 'open' }
  | {
      readonly kind: 'prepare';
      readonly tx: number;
      /** JSON of `TreeOperation[]`. */
      readonly operations: string;
      readonly rereads: boolean;
      /** Files that the master has read for it. */
      readonly files: FileContents;
      /** Undefined: the modules stay as they are. */
      readonly modules: ModuleShare | undefined;
      readonly zones: readonly ZoneShare[];
    }
  | { readonly kind: 'commit'; readonly tx: number }
  | { readonly kind: 'abort'; readonly tx: number }
  | { readonly kind: 'publish'; readonly id: number; readonly channel: string; readonly data: unknown }
  /** Stop the removed modules, or leave them as they are: a worker was lost when it stopped them. */
  | { readonly kind: 'retire'; readonly stops: boolean }
  | { readonly kind: 'reopen' }
  /** The socket that it has asked for. */
  | ({ readonly kind: 'socket'; readonly id: number } & SocketResult)
  /** Asks for the open sockets. */
  | { readonly kind: 'descriptors' }
  /** Another program is about to listen on the same sockets. */
  | { readonly kind: 'moveFlows' }
  /** Another program listens on the same sockets. */
  | { readonly kind: 'leaveFiles' }
  /** Close connections whose request began before that time (epoch milliseconds). */
  | { readonly kind: 'cutOff'; readonly time: number }
  /** Respond at once, whatever else there is to do. */
  | { readonly kind: 'ping' }
  /** Take no new connections, end when the last request is finished, or when the time is over. */
  | { readonly kind: 'quit'; readonly end: GracefulEnd }
  /** End now. */
  | { readonly kind: 'stop' };

export type FromWorker =
  /** Its modules are loaded: it can take the state. */
  | { readonly kind: 'loaded' }
  /** It has the current state, and no sockets yet. */
  | { readonly kind: 'booted' }
  | { readonly kind: 'socket'; readonly id: number; readonly request: SocketRequest }
  | { readonly kind: 'descriptors'; readonly descriptors: readonly (readonly [key: string, descriptor: number])[] }
  /** Sessions over UDP have sockets of their own. */
  | { readonly kind: 'flowsMoved' }
  /** It serves. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly failure: FailureData }
  /** An unexpected error: it serves until it is replaced. */
  | { readonly kind: 'failing'; readonly reason: string }
  | { readonly kind: 'prepared'; readonly tx: number; readonly failure?: FailureData }
  | { readonly kind: 'committed'; readonly tx: number }
  | { readonly kind: 'published'; readonly id: number }
  /** It has modules to stop, and waits for its turn; then: it has. */
  | { readonly kind: 'retiring' | 'retired' }
  /** It happened there. */
  | { readonly kind: 'event'; readonly event: EventMessage }
  /** A message of the half of a module there to the one in the main thread. */
  | { readonly kind: 'told'; readonly message: ToldMessage }
  | { readonly kind: 'pong' };
