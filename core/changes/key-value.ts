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
import { ChosenLog } from './chosen-log.js';
import {
  EntryNotKept,
  LogAway,
  LogConflict,
  type Appended,
  type CommitLog,
  type LogEntry,
  type LogVersion,
  type Snapshot,
} from './commit-log.js';
import { KeyValueSpace } from './key-value-space.js';
import { PairWatches } from './pair-watches.js';
import type { Log } from '../contract/log.js';
import { storeApiError } from './api-errors.js';
import { inForceEverywhere } from './in-force.js';
import { isAlive, PAIR_CHANNEL, ttlOf, type PairChange, type PairData } from './key-value-copy.js';
import { LocalPairs, type LostWrite } from './local-pairs.js';
import { LogFollower, type NodeStatus } from './log-follower.js';
import type { Participant, Replicated } from './participant.js';
import { assertAlone, type Staging } from './staging.js';
import { Store } from './store.js';
import { StoreReleased } from './store-error.js';
import { UnsavedPairs } from './unsaved-pairs.js';
import { untilDecided } from './waiting-caller.js';
import { assertInTime } from './change-time.js';

const PUBLISH_LIMIT = 1500;
const EXPIRY_EVERY = 1000;
/** A worker that runs out of memory is ended: the pairs must never be the reason. */
const HEAP_SHARE = 0.25;

type ListOptions = Parameters<KeyValue['list']>[0];

/** Pairs that are written, and keys that are removed, in one step. The version of a pair is the number of its entry. */
export interface PairEntry {
  readonly set: readonly Omit<PairData, 'version'>[];
  readonly deleted: readonly string[];
  /** For a log that lets other entries be between: pairs that must be as this node knows them, by key and version; 0: there is none. */
  readonly conditions?: readonly Pick<PairData, 'key' | 'version'>[];
  /** No other entry may be between. */
  readonly isExact?: boolean;
  /** When pairs were written (epoch milliseconds), if that was before the entry was made. */
  readonly times?: ReadonlyMap<string, number>;
}

/** Store of several nodes: the name of its `redis` block, and what a reload may change. */
export interface RedisStore extends Pick<RedisPairs, 'name'> {
  readonly wait: () => RedisPairs['wait'];
}

/** An entry as this node keeps it. Without a time it is one that this node has just made. */
type KeptEntry = Omit<LogEntry<PairEntry>, 'at' | 'mark'> & { readonly at?: number; readonly mark?: number | undefined };

/** A write that is decided. */
interface Published {
  /** Rejects when a worker is busy. Undefined: there was nothing to change. */
  readonly inWorkers: Promise<void> | undefined;
}

export interface KeyValueOptions {
  /** Where pairs are kept, unless they have a folder of their own. */
  readonly store: Store;
  /** The workers at this moment. */
  readonly participants: () => Iterable<Participant>;
  readonly log: Log;
  /** Bytes of heap that a worker has: its copy of the pairs must leave most of it free. */
  readonly heapSize: () => number;
  readonly staging: Staging;
  /** The order of writes. */
  readonly commitLog: CommitLog<PairEntry, readonly PairData[]>;
  /** The order of writes of several nodes. */
  readonly redisLog?: (store: RedisStore) => CommitLog<PairEntry, readonly PairData[]>;
  /** Name of this node. */
  readonly nodeName: () => string;
  /** Called when this node can follow the log, or cannot any more. */
  readonly onNode?: (status: NodeStatus) => void;
  /** Called for each write that another one has replaced, because both were made without the other. */
  readonly onLost?: (write: LostWrite) => void;
}

/**
 * The key-value pairs of this node. A write is in the log and on disk first, then in the copy of every worker; then the API responds.
 */
export class MasterKeyValue extends KeyValue implements Replicated {
  readonly channel = PAIR_CHANNEL;
  #settings = KEY_VALUE_DEFAULTS;
  /** Those of the configuration: some of them count from the next start on. */
  #configured = KEY_VALUE_DEFAULTS;
  #pairs: Map<string, PairData> | undefined;
  /** Keys whose time will be over. */
  readonly #expiring = new Set<string>();
  readonly #watches = new PairWatches();
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #ownStore: Store | undefined;

  readonly #follower: LogFollower<PairEntry, readonly PairData[]>;
  readonly #log: ChosenLog<PairEntry, readonly PairData[]>;
  /** Of several nodes. */
  readonly #unsaved = new UnsavedPairs((work) => this.#write(work));
  readonly #local = new LocalPairs((work) => this.#writeWithUnsaved(work));
  /** It has read what the others have written, since its start. */
  #wasInSync = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: KeyValueOptions) {
    super();
    this.#log = new ChosenLog(options.commitLog);
    this.#follower = new LogFollower({
      log: this.#log,
      applied: () => this.#version,
      apply: (entry) => this.#published(() => this.#keep(entry)),
      restore: (snapshot) => this.#published(() => this.#restore(snapshot)),
      state: () => this.#local.inLog(this.#open()),
      caughtUp: () => this.#merge(),
      inTurn: (work) => this.#inTurn(work),
      changed: (status) => {
        if (status.state === 'in_sync') this.#wasInSync = true;
        options.onNode?.(status);
      },
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
    const isOpen = this.#pairs !== undefined;
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
    return [...this.#open().values()];
  }

  get(key: string): string | undefined {
    return this.#alive(key)?.value;
  }

  version(key: string): string | undefined {
    const pair = this.#alive(key);
    return pair && String(pair.version);
  }

  async set(key: string, value: string, { ttl = 0, dryRun = false, ...options }: PairWrite & { ttl?: number } = {}): Promise<void> {
    assertAlone(this.options.staging);
    const expires = ttl === 0 ? 0 : Date.now() + ttl;
    await this.#change(options, () => {
      this.#assertPreconditions(key, options);
      this.#assertRoom(key, value);
      return dryRun ? undefined : { set: [{ key, value, expires }], deleted: [], ...this.#conditionsOf(key, options) };
    });
  }

  async delete(key: string, { dryRun = false, ...options }: PairWrite = {}): Promise<boolean> {
    assertAlone(this.options.staging);
    let found = false;
    await this.#change(options, () => {
      found = this.#alive(key) !== undefined;
      this.#assertPreconditions(key, options);
      return found && !dryRun ? { set: [], deleted: [key], ...this.#conditionsOf(key, options) } : undefined;
    });
    return found;
  }

  async clear({ dryRun = false, ...options }: PairCall = {}): Promise<number> {
    assertAlone(this.options.staging);
    let keys: readonly string[] = [];
    await this.#change(options, () => {
      keys = [...this.#open().keys()];
      return keys.length > 0 && !dryRun ? { set: [], deleted: keys, isExact: true } : undefined;
    });
    return keys.length;
  }

  ttl(key: string): number | undefined {
    const pair = this.#alive(key);
    return pair && ttlOf(pair);
  }

  list({ prefix = '', after = '', limit, maxBytes = Infinity }: ListOptions): KeyValuePage {
    this.#open();
    this.#unsaved.flush();
    const pairs: { key: string; value: string }[] = [];
    let bytes = 0;
    for (const pair of this.#store.pairs.from(prefix, after)) {
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

  /** Where this node is in the order of writes. */
  get node(): NodeStatus {
    return this.#follower.status;
  }

  /** The same, for other nodes. Undefined: the pairs are those of this node alone. */
  get shared(): ClusterPairs | undefined {
    if (!this.#log.isShared) return undefined;
    const { state, version, reason } = this.#follower.status;
    return { state, version: version.number, reason, isStale: !this.#wasInSync, local: this.#local.size };
  }

  /** Applies what other nodes have written, and follows them from now on. */
  async follow(): Promise<void> {
    await this.#follower.start();
    this.#wasInSync = this.#follower.status.state === 'in_sync';
  }

  /** Applies no more writes of other nodes. */
  unfollow(): void {
    this.#follower.stop();
  }

  /** Closes the files, for another program. Calls are rejected until {@link reopen}; workers have their copies. */
  release(): void {
    this.#follower.stop();
    this.#unsaved.flush();
    this.#ownStore?.release();
  }

  /** @throws StoreError */
  reopen(): void {
    this.#ownStore?.reopen();
    if (this.#log.isFollowed) void this.#follower.start();
  }

  close(): void {
    this.#follower.stop();
    this.#unsaved.flush();
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#ownStore?.close();
    this.#ownStore = undefined;
  }

  get #store(): Store {
    return this.#ownStore ?? this.options.store;
  }

  #open(): Map<string, PairData> {
    if (this.#pairs !== undefined) return this.#pairs;
    const { folder } = this.#settings;
    if (folder !== undefined) this.#ownStore = Store.open(folder);
    const pairs = (this.#pairs = new Map<string, PairData>());
    for (const pair of this.#store.pairs.all()) {
      pairs.set(pair.key, pair);
      this.#size += sizeOf(pair.key, pair.value);
      this.#watch(pair);
    }
    this.#local.load(this.#store);
    return pairs;
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
    return ifMatch === undefined && ifNoneMatch === undefined ? {} : { conditions: [this.#known(key)] };
  }

  #known(key: string): Pick<PairData, 'key' | 'version'> {
    return { key, version: this.#open().get(key)?.version ?? 0 };
  }

  /** In a form that the version of no key has: one may be sent for the other. */
  #listVersion(): string {
    return `kv-${this.#version.number}${this.#local.version}`;
  }

  #alive(key: string): PairData | undefined {
    const pair = this.#open().get(key);
    return pair !== undefined && isAlive(pair) ? pair : undefined;
  }

  /** @throws ApiError 413, 507 */
  #assertRoom(key: string, value: string): void {
    const { maxKey, maxValue, maxSize } = this.#settings;
    if (Buffer.byteLength(key) > maxKey) throw new ApiError(413, 'KeyTooLong', `the key is longer than ${maxKey} bytes`);
    if (Buffer.byteLength(value) > maxValue) throw new ApiError(413, 'ValueTooLarge', `the value is longer than ${maxValue} bytes`);
    const old = this.#open().get(key);
    const size = this.#size + sizeOf(key, value) - (old === undefined ? 0 : sizeOf(key, old.value));
    if (size > maxSize) throw new ApiError(507, 'StoreFull', `the key-value store is full: max_size is ${maxSize} bytes`);
    const share = Math.floor(this.options.heapSize() * HEAP_SHARE);
    if (size > share) {
      throw new ApiError(507, 'StoreFull', `the key-value store is full: it is limited to ${share} bytes, a quarter of worker_heap_size`);
    }
  }

  get #version(): LogVersion {
    this.#open();
    if (this.#unsaved.version !== undefined) return this.#unsaved.version;
    const { pairEpoch: epoch, pairVersion: number, pairMark: mark } = this.#store;
    return mark === 0 ? { epoch, number } : { epoch, number, mark };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** @param make is called in turn, and again when other nodes have written meanwhile. Undefined: nothing changes */
  async #change(caller: Omit<PairCall, 'dryRun'>, make: () => PairEntry | undefined): Promise<void> {
    const published = this.#log.isShared
      ? await untilDecided(caller, (waiting) => this.#decide(waiting, make))
      : await this.#decide(caller, make);
    await published.inWorkers;
    // Without Redis this node has to have it as well, after a crash.
    await this.#unsaved.saved();
  }

  async #decide({ deadline = Infinity }: Pick<PairWrite, 'deadline'>, make: () => PairEntry | undefined): Promise<Published> {
    const node = this.options.nodeName();
    let inWorkers: Promise<void> | undefined;
    // In turn, so that workers get the changes in their order; the next write does not wait for them.
    const publish = (change: PairChange): void => {
      inWorkers = this.#publish(change);
      inWorkers.catch(() => undefined);
    };
    let at = Date.now();
    const append = async (): Promise<void> => {
      assertInTime(deadline);
      // These are merged first.
      if (this.#local.size > 0) throw new LogConflict();
      const entry = make();
      if (entry === undefined) return;
      at = Date.now();
      const keep = ([number = 0]: readonly number[], appended?: Appended<PairEntry>): void =>
        publish(this.#keepOwn(entry, number, appended));
      await this.#log.append([{ node, at, content: () => entry }], this.#version, keep);
    };
    const alone = (error: unknown): void => {
      if (!(error instanceof LogAway) || this.#settings.redis?.write !== 'local') throw error;
      const entry = make();
      if (entry !== undefined) publish(this.#take(this.#local.write(entry, this.#open(), at)));
    };
    await this.#inTurn(() => this.#follower.inOrder(append).catch(alone));
    return { inWorkers };
  }

  /** @param before called when the entries of other nodes are kept that this one follows @throws EntryNotKept when the log has it, but this node has not */
  #keepOwn(entry: PairEntry, number: number, appended: Appended<PairEntry> | undefined, before?: () => void): PairChange {
    try {
      for (const earlier of appended?.before ?? []) void this.#published(() => this.#keep(earlier));
      before?.();
      return this.#keep({ content: entry, number, node: this.options.nodeName(), mark: appended?.mark });
    } catch (error) {
      throw this.#log.isShared ? new EntryNotKept((error as Error).message) : error;
    }
  }

  /** Writes of this node that the log does not have. @returns false: other nodes write the same pairs */
  async #merge(): Promise<boolean> {
    while (this.#local.size > 0) {
      const { entry, replaced, keys, lost } = this.#local.merge(this.#open());
      const keep = ([number = 0]: readonly number[], appended?: Appended<PairEntry>): void => {
        void this.#published(() => this.#keepOwn(entry, number, appended, () => this.#local.release(keys)));
      };
      const node = this.options.nodeName();
      try {
        if (entry.conditions?.length !== 0) await this.#log.append([{ node, at: Date.now(), content: () => entry }], this.#version, keep);
      } catch (error) {
        if (error instanceof LogConflict) return false;
        throw error;
      }
      this.#local.release(keys);
      this.#local.forget(keys, replaced);
      void this.#published(() => this.#take(replaced));
      for (const write of lost) this.options.onLost?.(write);
    }
    return true;
  }

  /** Keeps an entry, which is that of another node if it has a time. */
  #keep({ content, number, node, mark = 0, at }: KeptEntry): PairChange {
    const { set, deleted, times } = content;
    const pairs = set.map((pair) => ({ ...pair, version: number }));
    if (this.#log.isShared) {
      const made = { set: pairs, deleted };
      const isOwn = node === this.options.nodeName();
      const change = isOwn ? this.#local.followOwn(made, this.#open()) : this.#local.follow(made, (key) => times?.get(key) ?? at);
      this.#unsaved.add(change, { epoch: this.#version.epoch, number, mark });
      return this.#take(change);
    }
    this.#write((store) => {
      for (const pair of pairs) store.pairs.put(pair);
      for (const key of deleted) store.pairs.delete(key);
      store.pairVersion = number;
    });
    return this.#take({ set: pairs, deleted });
  }

  /** Replaces all pairs. */
  #restore({ version, state }: Snapshot<readonly PairData[]>): PairChange {
    const pairs = this.#open();
    const others = this.#local.replace(state);
    const kept = new Set(others.map(({ key }) => key));
    const deleted = [...pairs.keys()].filter((key) => !kept.has(key) && !this.#local.has(key));
    const set = others.filter(({ key, value, version: of, expires }) => {
      const known = pairs.get(key);
      return known?.version !== of || known.expires !== expires || known.value !== value;
    });
    this.#write((store) => {
      for (const pair of others) store.pairs.put(pair);
      for (const key of deleted) store.pairs.delete(key);
      store.pairEpoch = version.epoch;
      store.pairVersion = version.number;
      store.pairMark = version.mark ?? 0;
    });
    this.#unsaved.drop();
    return this.#take({ set, deleted });
  }

  /** The pairs as they are on disk now. */
  #take(change: PairChange): PairChange {
    const pairs = this.#open();
    const forget = (key: string): void => {
      const known = pairs.get(key);
      if (known !== undefined) this.#size -= sizeOf(key, known.value);
      pairs.delete(key);
      this.#expiring.delete(key);
    };
    for (const pair of change.set) {
      forget(pair.key);
      pairs.set(pair.key, pair);
      this.#size += sizeOf(pair.key, pair.value);
      this.#watch(pair);
    }
    change.deleted.forEach(forget);
    return change;
  }

  /** Publishes a change of other nodes. A worker that is late follows by itself. */
  #published(apply: () => PairChange): Promise<void> {
    this.#publish(apply()).catch((error: unknown) => this.options.log.write('warn', (error as Error).message));
    return Promise.resolve();
  }

  #write(work: (store: Store) => void): void {
    const store = this.#store;
    try {
      store.keep();
      store.transaction(() => work(store));
    } catch (error) {
      if (error instanceof StoreReleased) throw error;
      this.options.log.write('error', `cannot store a key-value change: ${error instanceof Error ? error.message : String(error)}`);
      throw storeApiError(error);
    }
  }

  #writeWithUnsaved(work: (store: Store) => void): void {
    this.#write((store) => {
      this.#unsaved.writeInto(store);
      work(store);
    });
    this.#unsaved.drop();
  }

  async #publish(change: PairChange): Promise<void> {
    for (const { key, value } of change.set) this.#watches.tell(key, value);
    for (const key of change.deleted) this.#watches.tell(key, undefined);
    await inForceEverywhere(this.options.participants(), PUBLISH_LIMIT, (participant) => participant.publish(this.channel, change));
  }

  #watch({ key, expires }: PairData): void {
    if (expires === 0) {
      this.#expiring.delete(key);
      return;
    }
    this.#expiring.add(key);
    this.#timer ??= setInterval(() => void this.#expire(), EXPIRY_EVERY).unref();
  }

  /** Everybody looks at the time when reading; this only frees what it takes up. */
  async #expire(): Promise<void> {
    // Without the log every node would have to say that it failed.
    if (this.#follower.status.state !== 'in_sync') return;
    const pairs = this.#open();
    const isOver = (key: string): boolean => {
      const pair = pairs.get(key);
      return pair !== undefined && !isAlive(pair);
    };
    try {
      if ([...this.#expiring].some(isOver))
        await this.#change({}, () => {
          const deleted = [...this.#expiring].filter(isOver);
          return deleted.length > 0 ? { set: [], deleted, conditions: deleted.map((key) => this.#known(key)) } : undefined;
        });
    } catch (error) {
      if (error instanceof StoreReleased) return;
      this.options.log.write('error', `removing expired key-value pairs failed: ${(error as Error).message}`);
    }
    if (this.#expiring.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const sizeOf = (key: string, value: string): number => Buffer.byteLength(key) + Buffer.byteLength(value);

/** The argument of `store`. */
const storeOf = (redis: RedisPairs | undefined): string => (redis === undefined ? 'embedded' : `redis ${redis.name}`);
const folderOf = (folder: string | undefined): string =>
  folder === undefined ? 'the data folder of the server' : `"data_folder ${folder};"`;
