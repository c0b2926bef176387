import { ApiError, assertPreconditions, type Preconditions } from '../contract/control.js';
import {
  KeyValue,
  type KeyValuePage,
  type KeyValueSettings,
  type PairListener,
  type PairWatch,
  type PairWrite,
} from '../contract/key-value.js';
import { KeyValueSpace } from './key-value-space.js';
import { PairWatches } from './pair-watches.js';
import type { Log } from '../contract/log.js';
import { storeApiError } from './api-errors.js';
import { inForceEverywhere } from './in-force.js';
import { isAlive, PAIR_CHANNEL, ttlOf, type PairChange, type PairData } from './key-value-copy.js';
import type { Participant, Replicated } from './participant.js';
import { assertAlone, type Staging } from './staging.js';
import { Store } from './store.js';
import { StoreReleased } from './store-error.js';

const PUBLISH_LIMIT = 1500;
const EXPIRY_EVERY = 1000;
/** A worker that runs out of memory is ended: the pairs must never be the reason. */
const HEAP_SHARE = 0.25;

const DEFAULTS: KeyValueSettings = { folder: undefined, maxSize: 64 * 1024 ** 2, maxKey: 1024, maxValue: 1024 ** 2 };

type ListOptions = Parameters<KeyValue['list']>[0];

/**
 * The key-value pairs of this node. A write is on disk first, then in the copy of every worker; then the API responds.
 */
export class MasterKeyValue extends KeyValue implements Replicated {
  readonly channel = PAIR_CHANNEL;
  #settings = DEFAULTS;
  #pairs: Map<string, PairData> | undefined;
  /** Keys whose time will be over. */
  readonly #expiring = new Set<string>();
  readonly #watches = new PairWatches();
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #ownStore: Store | undefined;

  /** @param participants the workers at this moment */
  constructor(
    private readonly mainStore: Store,
    private readonly participants: () => Iterable<Participant>,
    private readonly log: Log,
    /** Bytes of heap that a worker has: its copy of the pairs must leave most of it free. */
    private readonly heapSize: () => number,
    private readonly staging: Staging,
  ) {
    super();
  }

  configure(settings: KeyValueSettings): void {
    const moved = settings.folder !== this.#settings.folder;
    if (moved && this.#pairs !== undefined) this.log.write('warn', 'the folder of the key-value store changes with the next start');
    this.#settings = { ...settings, folder: this.#pairs === undefined ? settings.folder : this.#settings.folder };
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

  async set(key: string, value: string, { ttl = 0, dryRun = false, ...conditions }: PairWrite & { ttl?: number } = {}): Promise<void> {
    assertAlone(this.staging);
    const pairs = this.#open();
    this.#assertPreconditions(key, conditions);
    const size = this.#sizeAfter(key, value);
    if (dryRun) return;
    const pair: PairData = { key, value, version: this.#store.pairVersion + 1, expires: ttl === 0 ? 0 : Date.now() + ttl };
    this.#write((store) => {
      store.pairs.put(pair);
      store.pairVersion = pair.version;
    });
    pairs.set(key, pair);
    this.#size = size;
    this.#watch(pair);
    await this.#publish({ set: [pair], deleted: [] });
  }

  async delete(key: string, { dryRun = false, ...conditions }: PairWrite = {}): Promise<boolean> {
    assertAlone(this.staging);
    const found = this.#alive(key) !== undefined;
    this.#assertPreconditions(key, conditions);
    if (found && !dryRun) await this.#forget([key]);
    return found;
  }

  async clear({ dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<number> {
    const keys = [...this.#open().keys()];
    if (keys.length > 0 && !dryRun) await this.#forget(keys);
    return keys.length;
  }

  ttl(key: string): number | undefined {
    const pair = this.#alive(key);
    return pair && ttlOf(pair);
  }

  list({ prefix = '', after = '', limit, maxBytes = Infinity }: ListOptions): KeyValuePage {
    this.#open();
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

  /** Closes the files, for another program. Calls are rejected until {@link reopen}; workers have their copies. */
  release(): void {
    this.#ownStore?.release();
  }

  /** @throws StoreError */
  reopen(): void {
    this.#ownStore?.reopen();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#ownStore?.close();
    this.#ownStore = undefined;
  }

  get #store(): Store {
    return this.#ownStore ?? this.mainStore;
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

  /** In a form that the version of no key has: one may be sent for the other. */
  #listVersion(): string {
    this.#open();
    return `kv-${this.#store.pairVersion}`;
  }

  #alive(key: string): PairData | undefined {
    const pair = this.#open().get(key);
    return pair !== undefined && isAlive(pair) ? pair : undefined;
  }

  #sizeAfter(key: string, value: string): number {
    const { maxKey, maxValue, maxSize } = this.#settings;
    if (Buffer.byteLength(key) > maxKey) throw new ApiError(413, 'KeyTooLong', `the key is longer than ${maxKey} bytes`);
    if (Buffer.byteLength(value) > maxValue) throw new ApiError(413, 'ValueTooLarge', `the value is longer than ${maxValue} bytes`);
    const old = this.#open().get(key);
    const size = this.#size + sizeOf(key, value) - (old === undefined ? 0 : sizeOf(key, old.value));
    if (size > maxSize) throw new ApiError(507, 'StoreFull', `the key-value store is full: max_size is ${maxSize} bytes`);
    const share = Math.floor(this.heapSize() * HEAP_SHARE);
    if (size > share) {
      throw new ApiError(507, 'StoreFull', `the key-value store is full: it is limited to ${share} bytes, a quarter of worker_heap_size`);
    }
    return size;
  }

  #write(work: (store: Store) => void): void {
    const store = this.#store;
    try {
      store.keep();
      store.transaction(() => work(store));
    } catch (error) {
      if (error instanceof StoreReleased) throw error;
      this.log.write('error', `cannot store a key-value change: ${error instanceof Error ? error.message : String(error)}`);
      throw storeApiError(error);
    }
  }

  async #forget(keys: readonly string[]): Promise<void> {
    const pairs = this.#open();
    this.#write((store) => {
      for (const key of keys) store.pairs.delete(key);
      store.pairVersion++;
    });
    for (const key of keys) {
      this.#size -= sizeOf(key, pairs.get(key)?.value ?? '');
      pairs.delete(key);
      this.#expiring.delete(key);
    }
    await this.#publish({ set: [], deleted: keys });
  }

  async #publish(change: PairChange): Promise<void> {
    for (const { key, value } of change.set) this.#watches.tell(key, value);
    for (const key of change.deleted) this.#watches.tell(key, undefined);
    await inForceEverywhere(this.participants(), PUBLISH_LIMIT, (participant) => participant.publish(this.channel, change));
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
    const pairs = this.#open();
    const over = [...this.#expiring].filter((key) => {
      const pair = pairs.get(key);
      return pair !== undefined && !isAlive(pair);
    });
    try {
      if (over.length > 0) await this.#forget(over);
    } catch (error) {
      if (error instanceof StoreReleased) return;
      this.log.write('error', `removing expired key-value pairs failed: ${(error as Error).message}`);
    }
    if (this.#expiring.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const sizeOf = (key: string, value: string): number => Buffer.byteLength(key) + Buffer.byteLength(value);
