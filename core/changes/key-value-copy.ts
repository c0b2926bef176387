import { KeyValue, type PairListener, type PairWatch } from '../contract/key-value.js';
import { KeyValueSpace } from './key-value-space.js';
import { PairWatches } from './pair-watches.js';
import type { Replica } from './participant.js';

/** Channel for changes from the master to the workers. */
export const PAIR_CHANNEL = 'kv';

export interface PairData {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  /** Epoch milliseconds; 0: never. */
  readonly expires: number;
}

/** Changes: new or different pairs, and removed keys. */
export interface PairChange {
  readonly set: readonly PairData[];
  readonly deleted: readonly string[];
}

/** True until the pair's time is over. */
export function isAlive({ expires }: PairData): boolean {
  return expires === 0 || expires > Date.now();
}

/** Milliseconds until a pair that is alive expires; 0: never. */
export function ttlOf({ expires }: PairData): number {
  return expires === 0 ? 0 : Math.max(1, expires - Date.now());
}

/** A worker's own copy of all pairs: reading one costs one look-up. */
export class KeyValueCopy extends KeyValue implements Replica {
  readonly channel = PAIR_CHANNEL;
  readonly #pairs = new Map<string, PairData>();
  readonly #watches = new PairWatches();

  load(snapshot: unknown): void {
    this.#pairs.clear();
    for (const pair of snapshot as Iterable<PairData>) this.#pairs.set(pair.key, pair);
  }

  take(data: unknown): void {
    const { set, deleted } = data as PairChange;
    for (const pair of set) this.#pairs.set(pair.key, pair);
    for (const key of deleted) this.#pairs.delete(key);
    for (const { key, value } of set) this.#watches.tell(key, value);
    for (const key of deleted) this.#watches.tell(key, undefined);
  }

  watch(prefix: string, changed: PairListener): PairWatch {
    return this.#watches.watch(prefix, changed);
  }

  space(name: string): KeyValue {
    return new KeyValueSpace(this, name);
  }

  get(key: string): string | undefined {
    const pair = this.#pairs.get(key);
    return pair !== undefined && isAlive(pair) ? pair.value : undefined;
  }

  version(key: string): string | undefined {
    const pair = this.#pairs.get(key);
    return pair !== undefined && isAlive(pair) ? String(pair.version) : undefined;
  }

  set(): Promise<never> {
    return Promise.reject(onlyInMaster());
  }

  delete(): Promise<never> {
    return Promise.reject(onlyInMaster());
  }

  clear(): Promise<never> {
    return Promise.reject(onlyInMaster());
  }

  ttl(key: string): number | undefined {
    const pair = this.#pairs.get(key);
    return pair !== undefined && isAlive(pair) ? ttlOf(pair) : undefined;
  }

  list(): never {
    throw onlyInMaster();
  }

  configure(): void {
    // Limits are kept by the master, which makes all changes.
  }
}

function onlyInMaster(): Error {
  return new Error('a worker reads key-value pairs; changes are made by actions, in the main thread');
}
