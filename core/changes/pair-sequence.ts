import { randomInt } from 'node:crypto';
import type { RedisArgument, RedisConnection } from '../contract/redis.js';
import type { LogEntry, LogVersion, Snapshot } from './commit-log.js';
import { EntryBuffer } from './entry-buffer.js';
import type { PairData } from './key-value-copy.js';
import type { PairEntry } from './pair-entry.js';
import { beginInTurn } from './redis-offers.js';
import { logEntry, pairOf, sentEntry, storedPair } from './redis-pair-codec.js';
import { APPEND, BEGIN, FORMAT, LOOK, MOST_BYTES, MOST_CHANGES } from './redis-pair-scripts.js';
import {
  LARGEST_MARK,
  place,
  rawEntry,
  type LogBeginning,
  type Look,
  type NewEntries,
  type RawEntry,
  type RedisSequence,
} from './redis-sequence.js';

const LOOK_MS = 1000;
/**
 * How long a node leaves an empty Redis to the others, which may have later pairs: those of a cluster find out when they look. A node that has been alone and
 * has pairs waits least. Milliseconds.
 */
const OFFER_MS = { cluster: LOOK_MS + 500, alone: 200, new: 1000 };
const SCAN_COUNT = 1000;
/** A snapshot is read again so often when the changes that were made meanwhile are not all there any more. */
const ATTEMPTS = 5;

export interface PairSequenceOptions {
  readonly connection: RedisConnection;
  readonly wait: () => RedisSequence<never, never>['wait'];
}

/**
 * The key-value pairs of several nodes, in Redis: one script makes a change of the pairs there, and appends it. A change need not follow the last one: those
 * between are applied before it.
 */
export class PairSequence implements RedisSequence<PairEntry, readonly PairData[]> {
  readonly words = {
    subject: 'key-value',
    entry: 'write',
    state: 'pairs',
    rejected: 'the key-value pairs cannot be written',
  };
  readonly format = FORMAT;
  readonly look = LOOK;
  readonly append = APPEND;
  readonly isStrict = false;
  readonly lookMs = LOOK_MS;
  readonly page = 500;
  readonly buffer = new EntryBuffer<PairEntry>();

  constructor(private readonly options: PairSequenceOptions) {}

  get connection(): RedisConnection {
    return this.options.connection;
  }

  get wait(): RedisSequence<never, never>['wait'] {
    return this.options.wait();
  }

  get keys(): readonly [meta: string, pairs: string, changes: string] {
    const { keys } = this.connection;
    return [`${keys}meta`, `${keys}pairs`, `${keys}changes`];
  }

  get stream(): string {
    return this.keys[2];
  }

  newEntries({ entries, marks }: NewEntries<PairEntry>): readonly RedisArgument[] {
    const [entry] = entries;
    if (entry === undefined) return [];
    const content = entry.content();
    const conditions = (content.conditions ?? []).flatMap(({ key, version }) => [key.toWellFormed(), version]);
    const isExact = content.isExact === true ? 1 : 0;
    return [marks[0] ?? '', entry.node, MOST_CHANGES, MOST_BYTES, isExact, sentEntry(content), ...conditions];
  }

  entry(raw: RawEntry): LogEntry<PairEntry> {
    return logEntry(raw, this.#clockOffset);
  }

  announced(read: () => void): () => void {
    const { buffer } = this;
    return this.connection.follow(
      this.stream,
      () => `${buffer.last}-1`,
      (entries) => {
        for (const entry of entries) buffer.add(this.entry(rawEntry(entry)));
        read();
      },
    );
  }

  async snapshot(): Promise<Snapshot<readonly PairData[]> | undefined> {
    for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
      const reply = await this.connection.command('HMGET', this.keys[0], 'format', 'epoch', 'version', 'mark');
      const [format, ...start] = reply as readonly (string | null)[];
      if (format !== FORMAT) return undefined;
      const [epoch = 0, number = 0, mark = 0] = start.map(Number);
      const pairs = await this.#scan();
      const version = await this.#fold(pairs, { epoch, number, mark });
      if (version !== undefined) return { version, state: [...pairs.values()] };
    }
    return undefined;
  }

  /** Into an empty Redis. */
  async begin({ version, state, node }: LogBeginning<readonly PairData[]>): Promise<string | undefined> {
    const { connection } = this;
    const [mine, offers] = [`${connection.keys}begin:${node}`, `${connection.keys}offers`];
    const begin = async (): Promise<string> => {
      await this.#write(mine, state);
      const args = [FORMAT, version.number + 1, String(randomInt(LARGEST_MARK)), node, version.epoch, version.number];
      const [status] = (await connection.script(BEGIN, [...this.keys, offers, mine], args)) as readonly [string];
      return status;
    };
    const ms = version.epoch > 0 ? OFFER_MS.cluster : state.length > 0 ? OFFER_MS.alone : OFFER_MS.new;
    const isBegun = await beginInTurn({ connection, offers, node }, version, ms, begin);
    return isBegun ? `the ${state.length} pairs of this node` : undefined;
  }

  get #clockOffset(): number {
    return this.connection.status.clockOffset;
  }

  async #write(key: string, pairs: readonly PairData[]): Promise<void> {
    await this.connection.command('DEL', key);
    for (let at = 0; at < pairs.length; at += SCAN_COUNT) {
      const some = pairs.slice(at, at + SCAN_COUNT).flatMap((pair) => [pair.key.toWellFormed(), storedPair(pair, this.#clockOffset)]);
      await this.connection.command('HSET', key, ...some);
      await this.connection.command('PEXPIRE', key, 60_000);
    }
  }

  async #scan(): Promise<Map<string, PairData>> {
    const pairs = new Map<string, PairData>();
    let cursor = '0';
    do {
      const reply = await this.connection.command('HSCAN', this.keys[1], cursor, 'COUNT', SCAN_COUNT);
      const [next, found] = reply as readonly [string, readonly string[]];
      for (let at = 0; at < found.length; at += 2) {
        const key = found[at] ?? '';
        pairs.set(key, pairOf(key, found[at + 1] ?? '', this.#clockOffset));
      }
      cursor = next;
    } while (cursor !== '0');
    return pairs;
  }

  /** Applies the changes that were made during a scan: it saw some of them. @returns undefined: they are not all there any more */
  async #fold(pairs: Map<string, PairData>, version: LogVersion): Promise<LogVersion | undefined> {
    const [status, entries] = (await this.connection.script(LOOK, this.keys, [...place(FORMAT, version), SCAN_COUNT])) as Look;
    if (status !== 'ok') return undefined;
    let last = version;
    for (const { number, mark, content } of entries.map((raw) => this.entry(raw))) {
      for (const pair of content.set) pairs.set(pair.key, { ...pair, version: number });
      for (const key of content.deleted) pairs.delete(key);
      last = { epoch: version.epoch, number, ...(mark !== undefined && { mark }) };
    }
    return entries.length === 0 ? version : this.#fold(pairs, last);
  }
}
