/** Key-value pairs. */
import type { ActionContext, Preconditions } from './control.js';

/** The key-value store: each worker reads its own copy; writes are made in the master, kept on disk and everywhere when they resolve. */
export abstract class KeyValue {
  abstract get(key: string): string | undefined;
  /** The version of a key's value, for compare-and-set. */
  abstract version(key: string): string | undefined;
  /** @param ttl milliseconds until it expires; 0 never. @throws ApiError 413 `KeyTooLong`, `ValueTooLarge`, 507 `StoreFull`, 412 `VersionMismatch` */
  abstract set(key: string, value: string, options?: PairWrite & { ttl?: number }): Promise<void>;
  /** False if there was no such key. */
  abstract delete(key: string, options?: PairWrite): Promise<boolean>;
  /** Deletes all keys, in one step. How many they were. */
  abstract clear(options?: PairCall): Promise<number>;
  /** Milliseconds until a key expires, 0: never. Undefined: there is no such key. */
  abstract ttl(key: string): number | undefined;
  /** Keys in order, those after `after`, with their values: at most `limit`, and one at least however many bytes it has. */
  abstract list(options: { prefix?: string; after?: string; limit: number; maxBytes?: number }): KeyValuePage;
  /**
   * Calls back in this thread after each change of a pair whose key begins with `prefix`: in the main thread when it is on disk, in a
   * worker when it is in its copy. In `start` or later; it ends with the module. Exceptions of the call are logged with the module's name.
   */
  abstract watch(prefix: string, changed: PairListener): PairWatch;
  /**
   * The pairs whose keys begin with `name/`, by what follows: for keys of a module that are none of users and of other modules. `clear` deletes them one after the
   * other. @param name letters, digits, `.`, `_` and `-` @throws RangeError for another name
   */
  abstract space(name: string): KeyValue;
  /** Its folder, its limits and its place in Redis. Another folder and another store count from the next start on. */
  abstract configure(settings: KeyValueSettings): void;
}

/** @param value undefined: the pair was deleted, or has expired */
export type PairListener = (key: string, value: string | undefined) => void;

export interface PairWatch {
  end(): void;
}

export interface KeyValuePage {
  readonly pairs: readonly { readonly key: string; readonly value: string }[];
  /** There are further keys after the last one. */
  readonly more: boolean;
  /** Of all pairs: another one as soon as any of them changes or goes. `If-Match` of a write may name it. Absent in a worker. */
  readonly version?: string;
}

/** The context of an action may be passed on as it is. */
export interface PairCall extends Pick<ActionContext, 'deadline' | 'extendDeadline'> {
  readonly dryRun?: boolean;
}

export interface PairWrite extends PairCall, Preconditions {}

export interface KeyValueSettings {
  /** Absolute; undefined: the data folder of the server. */
  readonly folder: string | undefined;
  /** Bytes of all keys and values, of one key and of one value. */
  readonly maxSize: number;
  readonly maxKey: number;
  readonly maxValue: number;
  /** The pairs are those of several nodes. Absent: this node has its own. */
  readonly redis?: RedisPairs | undefined;
}

/** Settings of a store that nothing was said about. */
export const KEY_VALUE_DEFAULTS: KeyValueSettings = { folder: undefined, maxSize: 64 * 1024 ** 2, maxKey: 1024, maxValue: 1024 ** 2 };

/** Pairs in Redis: every node has a copy. */
export interface RedisPairs {
  /** Of the `redis` block. */
  readonly name: string;
  /** Without Redis: writes are rejected (`strict`), or kept by this node and merged when Redis is back (`local`). */
  readonly write: 'strict' | 'local';
  /** Replicas that must have a write before it is responded to, and for how long that is waited for (milliseconds). */
  readonly wait: { readonly replicas: number; readonly timeout: number } | undefined;
}
