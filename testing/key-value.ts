/** The key-value store for unit tests: pairs in memory, and a clock of the test. */
import { ApiError, assertPreconditions } from '../core/contract/control.js';
import {
  KeyValue,
  type KeyValuePage,
  type KeyValueSettings,
  type PairCall,
  type PairListener,
  type PairWatch,
  type PairWrite,
} from '../core/contract/key-value.js';
import { KeyValueSpace } from '../core/changes/key-value-space.js';
import { PairWatches } from '../core/changes/pair-watches.js';

interface Pair {
  readonly value: string;
  readonly version: string;
  /** By {@link FakeKeyValue.now}; 0: never. */
  readonly expires: number;
}

/** Pairs of one test. They expire as {@link now} says. */
export class FakeKeyValue extends KeyValue {
  /** Milliseconds, which a test sets. */
  now = 0;
  settings: KeyValueSettings = { folder: undefined, maxSize: Infinity, maxKey: Infinity, maxValue: Infinity };
  readonly #pairs = new Map<string, Pair>();
  readonly #watches = new PairWatches();
  #versions = 0;

  /** @param pairs existing ones */
  constructor(pairs: Readonly<Record<string, string>> = {}) {
    super();
    for (const [key, value] of Object.entries(pairs)) this.#put(key, value, 0);
  }

  get(key: string): string | undefined {
    return this.#alive(key)?.value;
  }

  version(key: string): string | undefined {
    return this.#alive(key)?.version;
  }

  async set(key: string, value: string, { ttl = 0, dryRun = false, ...conditions }: PairWrite & { ttl?: number } = {}): Promise<void> {
    this.#assertPreconditions(key, conditions);
    this.#assertRoom(key, value);
    if (dryRun) return;
    this.#put(key, value, ttl === 0 ? 0 : this.now + ttl);
    this.#watches.tell(key, value);
  }

  async delete(key: string, { dryRun = false, ...conditions }: PairWrite = {}): Promise<boolean> {
    this.#assertPreconditions(key, conditions);
    const isThere = this.#alive(key) !== undefined;
    if (!dryRun && this.#pairs.delete(key)) this.#watches.tell(key, undefined);
    return isThere;
  }

  async clear({ dryRun = false }: PairCall = {}): Promise<number> {
    const keys = this.#keys();
    if (dryRun) return keys.length;
    this.#pairs.clear();
    for (const key of keys) this.#watches.tell(key, undefined);
    return keys.length;
  }

  ttl(key: string): number | undefined {
    const pair = this.#alive(key);
    return pair && (pair.expires === 0 ? 0 : pair.expires - this.now);
  }

  list({ prefix = '', after = '', limit }: Parameters<KeyValue['list']>[0]): KeyValuePage {
    const keys = this.#keys().filter((key) => key.startsWith(prefix) && key > after);
    const pairs = keys.slice(0, limit).map((key) => ({ key, value: this.get(key) ?? '' }));
    return { pairs, more: keys.length > limit, version: String(this.#versions) };
  }

  watch(prefix: string, changed: PairListener): PairWatch {
    return this.#watches.watch(prefix, changed);
  }

  space(name: string): KeyValue {
    return new KeyValueSpace(this, name);
  }

  configure(settings: KeyValueSettings): void {
    this.settings = settings;
  }

  #put(key: string, value: string, expires: number): void {
    this.#pairs.set(key, { value, version: String(++this.#versions), expires });
  }

  #alive(key: string): Pair | undefined {
    const pair = this.#pairs.get(key);
    return pair === undefined || (pair.expires !== 0 && pair.expires <= this.now) ? undefined : pair;
  }

  #keys(): string[] {
    return [...this.#pairs.keys()].filter((key) => this.#alive(key) !== undefined).sort();
  }

  #assertPreconditions(key: string, conditions: PairWrite): void {
    assertPreconditions(conditions, () => this.version(key));
  }

  #assertRoom(key: string, value: string): void {
    const { maxKey, maxValue, maxSize } = this.settings;
    if (Buffer.byteLength(key) > maxKey) throw new ApiError(413, 'KeyTooLong', `the key is longer than ${maxKey} bytes`);
    if (Buffer.byteLength(value) > maxValue) throw new ApiError(413, 'ValueTooLarge', `the value is longer than ${maxValue} bytes`);
    const others = this.#keys().filter((other) => other !== key);
    const size = others.reduce((sum, other) => sum + Buffer.byteLength(other + (this.get(other) ?? '')), Buffer.byteLength(key + value));
    if (size > maxSize) throw new ApiError(507, 'StoreFull', `the key-value store is full: max_size is ${maxSize} bytes`);
  }
}
