import { ApiError, assertPreconditions, type Preconditions } from '../contract/control.js';
import type { ClusterPairs } from '../contract/cluster.js';
import {
  KEY_VALUE_DEFAULTS,
  KeyValue,
  type KeyValuePage,
  type KeyValueSettings,
  type RedisPairs,
  type PairCall,
  type PairListener,
  type PairWatch,
  type PairWrite,
} from '../contract/key-value.js';
import { isDeepStrictEqual } from 'node:util';
import { stepLimit } from './change-time.js';
import { ChosenLog } from './chosen-log.js';
import type { CommitLog } from './commit-log.js';
import { inForceEverywhere } from './in-force.js';
import { isAlive, PAIR_CHANNEL, ttlOf, type PairChange, type PairData } from './key-value-copy.js';
import { KeyValueSpace } from './key-value-space.js';
import type { NodeStatus } from './log-follower.js';
import { PairDisk } from './pair-disk.js';
import type { PairEntry } from './pair-entry.js';
import { PairMemory, sizeOf } from './pair-memory.js';
import { PairWatches } from './pair-watches.js';
import { PairWrites, type PairWritesOptions } from './pair-writes.js';
import type { Participant, Replicated } from './participant.js';
import { assertAlone, type Staging } from './staging.js';
import type { Store } from './store.js';
import { StoreReleased } from './store-error.js';

const PUBLISH_LIMIT = 1500;
const EXPIRY_EVERY = 1000;
/** A worker that runs out of memory is ended: the pairs must never be the reason. */
const HEAP_SHARE = 0.25;

type ListOptions = Parameters<KeyValue['list']>[0];

/** Store of several nodes: the name of its `redis` block, and what a reload may change. */
export interface PairsInRedis extends Pick<RedisPairs, 'name'> {
  readonly wait: () => RedisPairs['wait'];
}

export interface KeyValueOptions extends Pick<PairWritesOptions, 'commitLog' | 'log' | 'nodeName' | 'onNode' | 'onLost'> {
  /** Where pairs are kept, unless they have a folder of their own. */
  readonly store: Store;
  /** The workers at this moment. */
  readonly participants: () => Iterable<Participant>;
  /** Bytes of heap that a worker has: its copy of the pairs must leave most of it free. */
  readonly heapSize: () => number;
  readonly staging: Staging;
  /** The order of writes of several nodes. */
  readonly redisLog?: (store: PairsInRedis) => CommitLog<PairEntry, readonly PairData[]>;
}

/**
 * The key-value pairs of this node. A write is in the log and on disk first, then in the copy of every worker; then the API responds.
 */
export class MasterKeyValue extends KeyValue implements Replicated {
  readonly channel = PAIR_CHANNEL;
  #settings = KEY_VALUE_DEFAULTS;
  /** Settings of the configuration, some of which count from the next start on. */
  #configured = KEY_VALUE_DEFAULTS;
  /** Undefined: nothing has asked for a pair yet. */
  #memory: PairMemory | undefined;
  readonly #disk: PairDisk;
  readonly #log: ChosenLog<PairEntry, readonly PairData[]>;
  readonly #writes: PairWrites;
  readonly #watches = new PairWatches();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: KeyValueOptions) {
    super();
    const { store, log, commitLog } = options;
    this.#disk = new PairDisk(store, log);
    this.#log = new ChosenLog(commitLog);
    this.#writes = new PairWrites({
      ...options,
      commitLog: this.#log,
      disk: this.#disk,
      memory: () => this.#open(),
      publish: (change, deadline) => this.#publish(change, deadline),
      isLocal: () => this.#settings.redis?.write === 'local',
    });
  }

  configure(settings: KeyValueSettings): void {
    // Each server of the configuration brings them.
    if (isDeepStrictEqual(settings, this.#configured)) return;
    this.#configured = settings;
    const { redis, folder } = settings;
    const now = this.#settings;
    const isFollowed = this.#log.isFollowed;
    if (isFollowed && redis?.name !== now.redis?.name) this.#warnOfRestart(`"store ${storeOf(redis)};"`, `"store ${storeOf(now.redis)};"`);
    const isOpen = this.#memory !== undefined;
    if (isOpen && folder !== now.folder) this.#warnOfRestart(folderOf(folder), folderOf(now.folder));
    if (!isFollowed && redis !== undefined) this.#chooseRedis(redis.name);
    const isSameStore = !isFollowed || redis?.name === now.redis?.name;
    this.#settings = { ...settings, folder: isOpen ? now.folder : folder, redis: isSameStore ? redis : now.redis };
  }

  #chooseRedis(name: string): void {
    const { redisLog } = this.options;
    if (redisLog !== undefined) this.#log.choose(redisLog({ name, wait: () => this.#settings.redis?.wait }));
  }

  #warnOfRestart(wanted: string, now: string): void {
    this.options.log.write('warn', `key-value: ${wanted} takes effect when srv is started again; until then it is ${now}`);
  }

  snapshot(): unknown {
    return [...this.#open().all.values()];
  }

  get(key: string): string | undefined {
    return this.#open().alive(key)?.value;
  }

  version(key: string): string | undefined {
    const pair = this.#open().alive(key);
    return pair && String(pair.version);
  }

  async set(key: string, value: string, { ttl = 0, dryRun = false, ...options }: PairWrite & { ttl?: number } = {}): Promise<void> {
    assertAlone(this.options.staging);
    const expires = ttl === 0 ? 0 : Date.now() + ttl;
    await this.#writes.change(options, () => {
      this.#assertPreconditions(key, options);
      this.#assertRoom(key, value);
      return dryRun ? undefined : { set: [{ key, value, expires }], deleted: [], ...this.#conditionsOf(key, options) };
    });
  }

  async delete(key: string, { dryRun = false, ...options }: PairWrite = {}): Promise<boolean> {
    assertAlone(this.options.staging);
    let found = false;
    await this.#writes.change(options, () => {
      found = this.#open().alive(key) !== undefined;
      this.#assertPreconditions(key, options);
      return found && !dryRun ? { set: [], deleted: [key], ...this.#conditionsOf(key, options) } : undefined;
    });
    return found;
  }

  async clear({ dryRun = false, ...options }: PairCall = {}): Promise<number> {
    assertAlone(this.options.staging);
    let keys: readonly string[] = [];
    await this.#writes.change(options, () => {
      keys = [...this.#open().all.keys()];
      return keys.length > 0 && !dryRun ? { set: [], deleted: keys, isExact: true } : undefined;
    });
    return keys.length;
  }

  ttl(key: string): number | undefined {
    const pair = this.#open().alive(key);
    return pair && ttlOf(pair);
  }

  list({ prefix = '', after = '', limit, maxBytes = Infinity }: ListOptions): KeyValuePage {
    this.#open();
    this.#disk.unsaved.flush();
    const pairs: { key: string; value: string }[] = [];
    let bytes = 0;
    for (const pair of this.#disk.store.pairs.from(prefix, after)) {
      if (!pair.key.startsWith(prefix)) break;
      if (!isAlive(pair)) continue;
      bytes += sizeOf(pair.key, pair.value);
      if (pairs.length >= limit || (bytes > maxBytes && pairs.length > 0)) return { pairs, more: true, version: this.#listVersion() };
      pairs.push({ key: pair.key, value: pair.value });
    }
    return { pairs, more: false, version: this.#listVersion() };
  }

  watch(prefix: string, changed: PairListener): PairWatch {
    return this.#watches.watch(prefix, changed);
  }

  space(name: string): KeyValue {
    return new KeyValueSpace(this, name);
  }

  get node(): NodeStatus {
    return this.#writes.node;
  }

  /** See {@link PairWrites.shared}. */
  get shared(): ClusterPairs | undefined {
    return this.#writes.shared;
  }

  /** Applies what other nodes have written, and follows them from now on. */
  follow(): Promise<void> {
    return this.#writes.follow();
  }

  /** Applies no more writes of other nodes. */
  unfollow(): void {
    this.#writes.unfollow();
  }

  /** Closes the files, for another program. Calls are rejected until {@link reopen}; workers have their copies. */
  release(): void {
    this.#writes.unfollow();
    this.#disk.release();
  }

  /** @throws StoreError */
  reopen(): void {
    this.#disk.reopen();
    if (this.#log.isFollowed) void this.#writes.follow();
  }

  close(): void {
    this.#writes.unfollow();
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#disk.close();
  }

  #open(): PairMemory {
    if (this.#memory !== undefined) return this.#memory;
    this.#disk.open(this.#settings.folder);
    const memory = (this.#memory = new PairMemory(this.#disk.store.pairs.all()));
    this.#writes.load();
    this.#expireLater();
    return memory;
  }

  /** @throws ApiError 412 */
  #assertPreconditions(key: string, conditions: Preconditions): void {
    assertPreconditions(
      conditions,
      () => this.version(key),
      () => [this.#listVersion()],
    );
  }

  /** Conditions for the log, which hold at this node: other nodes may have written. */
  #conditionsOf(key: string, { ifMatch, ifNoneMatch }: Preconditions): Pick<PairEntry, 'conditions' | 'isExact'> {
    if (ifMatch?.includes('kv-') === true) return { isExact: true };
    return ifMatch === undefined && ifNoneMatch === undefined ? {} : { conditions: [this.#open().known(key)] };
  }

  /** In a form that the version of no key has: one may be sent for the other. */
  #listVersion(): string {
    const { version, localVersion } = this.#writes;
    return `kv-${version.number}${localVersion}`;
  }

  /** @throws ApiError 413, 507 */
  #assertRoom(key: string, value: string): void {
    const { maxKey, maxValue, maxSize } = this.#settings;
    if (Buffer.byteLength(key) > maxKey) throw new ApiError(413, 'KeyTooLong', `the key is longer than ${maxKey} bytes`);
    if (Buffer.byteLength(value) > maxValue) throw new ApiError(413, 'ValueTooLarge', `the value is longer than ${maxValue} bytes`);
    const size = this.#open().sizeWith(key, value);
    if (size > maxSize) throw new ApiError(507, 'StoreFull', `the key-value store is full: max_size is ${maxSize} bytes`);
    const share = Math.floor(this.options.heapSize() * HEAP_SHARE);
    if (size > share) {
      throw new ApiError(507, 'StoreFull', `the key-value store is full: it is limited to ${share} bytes, a quarter of worker_heap_size`);
    }
  }

  async #publish(change: PairChange, deadline = Infinity): Promise<void> {
    this.#expireLater();
    for (const { key, value } of change.set) this.#watches.tell(key, value);
    for (const key of change.deleted) this.#watches.tell(key, undefined);
    const limit = stepLimit(PUBLISH_LIMIT, deadline);
    await inForceEverywhere(this.options.participants(), limit, (participant) => participant.publish(this.channel, change));
  }

  #expireLater(): void {
    if (this.#memory?.expires === true) this.#timer ??= setInterval(() => void this.#expire(), EXPIRY_EVERY).unref();
  }

  /** Everybody looks at the time when reading; this only frees what it takes up. */
  async #expire(): Promise<void> {
    // Without the log every node would have to say that it failed.
    if (this.#writes.node.state !== 'in_sync') return;
    const memory = this.#open();
    try {
      if (memory.over().length > 0)
        await this.#writes.change({}, () => {
          const deleted = memory.over();
          return deleted.length > 0 ? { set: [], deleted, conditions: deleted.map((key) => memory.known(key)) } : undefined;
        });
    } catch (error) {
      if (error instanceof StoreReleased) return;
      this.options.log.write('error', `removing expired key-value pairs failed: ${(error as Error).message}`);
    }
    if (memory.expires) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The argument of `store`. */
const storeOf = (redis: RedisPairs | undefined): string => (redis === undefined ? 'embedded' : `redis ${redis.name}`);
const folderOf = (folder: string | undefined): string =>
  folder === undefined ? 'the data folder of the server' : `"data_folder ${folder};"`;
