/** Redis, as blocks `redis NAME { … }` declare it. In the main thread: workers never wait for Redis, and have no connection to it. */

/** An argument of a command. Text is sent as UTF-8. */
export type RedisArgument = string | number | Buffer;

/** A script that runs in Redis in one step. It is sent by its hash, and as a text once a server does not have it. */
export interface RedisScript {
  /** Lua. Constant: what differs between calls is an argument. */
  readonly text: string;
  /** SHA-1 of the text, in hexadecimal digits. */
  readonly hash: string;
}

export interface RedisStatus {
  /** `away`: commands are rejected at once, and a connection is tried again and again. */
  readonly state: 'ready' | 'away';
  /** Why it is away. No secrets. */
  readonly reason: string | undefined;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Of the last measurement, in milliseconds. */
  readonly latency: number | undefined;
  /** Milliseconds that the clock of Redis is ahead of the clock of this node. */
  readonly clockOffset: number;
}

/** An entry of a stream: fields and values in turn. */
export interface RedisEntry {
  readonly id: string;
  readonly fields: readonly string[];
}

/** An entry of a stream, and the value of one of its fields, by which it differs from others with the same id. */
export interface RedisEntryMark {
  readonly stream: string;
  readonly id: string;
  readonly field: string;
  readonly value: string;
}

/**
 * - `away`: there is no connection; the command was not sent.
 * - `busy`: `max_pending` commands wait for replies; the command was not sent.
 * - `lost`: the connection was lost, or the reply did not come within `command_timeout`: it is unknown whether the command was carried out.
 * - `rejected`: an error of Redis, which the message says.
 */
export class RedisFailure extends Error {
  constructor(
    readonly kind: 'away' | 'busy' | 'lost' | 'rejected',
    message: string,
    /** First word of an error of Redis: `WRONGTYPE`. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** One `redis` block. */
export interface RedisConnection {
  readonly name: string;
  /** The beginning of all keys: `{srv:CLUSTER}:`. It is a hash tag, so that a Redis cluster has all of them on one node. */
  readonly keys: string;
  readonly status: RedisStatus;
  /** Longest time that a reply is waited for: `command_timeout`. Milliseconds. */
  readonly timeout: number;
  /** Resolves when the first attempt to connect has succeeded or failed. */
  readonly attempted: Promise<void>;
  /**
   * Sends a command, which must not block. There is no queue: without a connection it is rejected at once.
   * @throws RedisFailure
   */
  command(name: string, ...args: readonly RedisArgument[]): Promise<unknown>;
  /** Runs a script. @throws RedisFailure */
  script(script: RedisScript, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown>;
  /**
   * Waits until replicas have what was written so far, over a connection of its own.
   * @param timeout milliseconds
   * @param entry of a stream, which the server has to have: after a failover another one may respond, which lacks what was written
   * @returns how many have it
   * @throws RedisFailure
   */
  replicated(replicas: number, timeout: number, entry?: RedisEntryMark): Promise<number>;
  /**
   * Reads the entries of a stream as they are appended, over a connection of its own.
   * @param position id of the last entry that is known; called whenever the connection is made
   * @returns ends it
   */
  follow(stream: string, position: () => string, read: (entries: readonly RedisEntry[]) => void): () => void;
  /** Calls back when the state changes. @returns ends it */
  watch(changed: (status: RedisStatus) => void): () => void;
}

/** `cluster_changes`: changes of the configuration are those of several nodes. */
export interface ClusterChanges {
  readonly connection: RedisConnection;
  /** Content of `cluster_key_file`: changes are encrypted with it. Undefined: they are not. */
  readonly secret: string | undefined;
  /** Replicas that must have a change, and milliseconds until they do; undefined: none. */
  readonly wait: { readonly replicas: number; readonly timeout: number } | undefined;
}

/**
 * The Redis servers of this node: service of `srv_redis_module`. Connections exist from the `start` of modules on; one that is asked for before is
 * away until then.
 */
export abstract class Redis {
  static readonly service = 'srv.redis';
  /** The connection of a `redis` block: the same object also after its settings have changed. Without such a block it is away. */
  abstract connection(name: string): RedisConnection;
  /** The order of changes of several nodes, with its current settings. Undefined: this node changes its configuration alone. */
  abstract readonly changes: ClusterChanges | undefined;
}
