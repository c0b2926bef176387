import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../contract/control.js';
import type { Log } from '../contract/log.js';
import { RedisFailure, type RedisConnection, type RedisEntry } from '../contract/redis.js';
import {
  EntryNotKept,
  LogAway,
  LogConflict,
  type Appended,
  type CommitLog,
  type LogEntry,
  type LogNode,
  type LogVersion,
  type NewEntry,
  type Snapshot,
} from './commit-log.js';
import type { PairData } from './key-value-copy.js';
import type { PairEntry } from './key-value.js';
import { beginInTurn } from './redis-offers.js';
import { logEntry, pairOf, sentEntry, storedPair, type RawEntry } from './redis-pair-codec.js';
import { APPEND, BEGIN, FORMAT, LOOK, MOST_BYTES, MOST_CHANGES } from './redis-pair-scripts.js';

/** A write that reaches Redis later than this has no effect; its outcome is waited for a little longer. Milliseconds. */
const APPEND_MS = 1000;
const OUTCOME_MS = 1500;
/** How often a node looks for changes that no notification has announced: data of Redis may be deleted or replaced. */
const LOOK_MS = 1000;
/**
 * How long a node leaves an empty Redis to the others, which may have later pairs: those of a cluster find out when they look. A node that has been alone and
 * has pairs waits least. Milliseconds.
 */
const OFFER_MS = { cluster: LOOK_MS + 500, alone: 200, new: 1000 };
const SCAN_COUNT = 1000;
const LARGEST_MARK = 2 ** 47;

type Keep = (numbers: readonly number[], appended?: Appended<PairEntry>) => void;
type Look =
  | readonly [status: 'ok', entries: readonly RawEntry[]]
  | readonly [status: 'snapshot' | 'lost' | 'other' | 'empty' | 'foreign']
  | readonly ['format', string];

export interface RedisPairLogOptions {
  readonly connection: RedisConnection;
  readonly nodeName: () => string;
  readonly log: Log;
  /** Replicas that must have a write, and milliseconds until they do; undefined: none. */
  readonly wait: { readonly replicas: number; readonly timeout: number } | undefined;
}

/**
 * The order of key-value pairs of several nodes, in Redis: one script makes a change and appends it to a stream, which every node follows. A change
 * need not follow the last one: those between are applied before it.
 */
export class RedisPairLog implements CommitLog<PairEntry, readonly PairData[]> {
  readonly isShared = true;
  #node: LogNode<readonly PairData[]> | undefined;
  /** Changes that follow {@link #applied}, as they came. */
  #buffer: LogEntry<PairEntry>[] = [];
  #applied = 0;
  /** The buffer has all there is. */
  #isCurrent = false;

  constructor(private readonly options: RedisPairLogOptions) {}

  async append([entry]: readonly NewEntry<PairEntry>[], base: LogVersion, keep: Keep): Promise<readonly number[]> {
    if (entry === undefined) return [];
    const content = entry.content();
    const mark = randomInt(LARGEST_MARK);
    const latest = Date.now() + APPEND_MS;
    const conditions = (content.conditions ?? []).flatMap(({ key, version }) => [key.toWellFormed(), version]);
    const args = [
      String(mark),
      entry.node,
      Math.ceil(latest + this.#clockOffset),
      MOST_CHANGES,
      MOST_BYTES,
      content.isExact === true ? 1 : 0,
    ];
    let made: number;
    try {
      const reply = await this.options.connection.script(APPEND, this.#keys, [...place(base), ...args, sentEntry(content), ...conditions]);
      const [status, number, before] = reply as readonly [string, number, readonly RawEntry[]];
      if (status !== 'ok') throw this.#notAppended(status, String(number));
      this.#keep(number, mark, before, keep);
      made = number;
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      if (error.kind !== 'lost') throw unavailable(error.message);
      made = await this.#outcome(mark, base, latest, keep);
    }
    await this.#replicated(made, mark);
    return [made];
  }

  async entries(after: LogVersion): Promise<readonly LogEntry<PairEntry>[] | undefined> {
    const { connection } = this.options;
    await connection.attempted;
    const { state, reason } = connection.status;
    if (state === 'away') throw unavailable(reason ?? '');
    this.#applied = Math.max(this.#applied, after.number);
    const known = this.#buffer.filter(({ number }) => number > after.number);
    this.#buffer = [];
    if (this.#isCurrent && (known[0] === undefined || known[0].number === after.number + 1)) return known;
    // Later changes are announced.
    this.#isCurrent = true;
    this.#applied = after.number;
    const [status, rest] = await this.#attempt(() => this.#look(after, 500));
    if (status === 'ok' && rest.length > 0) this.#isCurrent = false;
    if (status === 'ok') return rest.map((raw) => this.#entry(raw));
    this.#isCurrent = false;
    if (status === 'empty') await this.#attempt(() => this.#begin(after));
    else if (status === 'foreign' || status === 'format') throw this.#notAppended(status, String(rest));
    this.#warn(status, after);
    return undefined;
  }

  snapshot(): Promise<Snapshot<readonly PairData[]> | undefined> {
    return this.#attempt(() => this.#snapshot());
  }

  follow(node: LogNode<readonly PairData[]>): () => void {
    const { connection } = this.options;
    this.#node = node;
    const forget = (): void => {
      this.#isCurrent = false;
      this.#buffer = [];
      node.appended();
    };
    const position = (): string => `${this.#buffer.at(-1)?.number ?? this.#applied}-1`;
    const ends = [connection.watch(forget), connection.follow(this.#keys[2], position, (entries) => this.#read(entries))];
    const timer = setInterval(() => {
      if (connection.status.state === 'ready') forget();
    }, LOOK_MS).unref();
    return () => {
      clearInterval(timer);
      for (const end of ends) end();
    };
  }

  get #keys(): [meta: string, pairs: string, changes: string] {
    const { keys } = this.options.connection;
    return [`${keys}meta`, `${keys}pairs`, `${keys}changes`];
  }

  get #clockOffset(): number {
    return this.options.connection.status.clockOffset;
  }

  #entry([id, fields]: RawEntry): LogEntry<PairEntry> {
    return logEntry({ id, fields }, this.#clockOffset);
  }

  #keep(number: number, mark: number, before: readonly RawEntry[], keep: Keep): void {
    try {
      keep([number], { before: before.map((raw) => this.#entry(raw)), mark });
    } catch (error) {
      this.#isCurrent = false;
      throw new EntryNotKept((error as Error).message);
    }
    this.#applied = number;
  }

  #read(entries: readonly RedisEntry[]): void {
    for (const entry of entries) {
      const read = logEntry(entry, this.#clockOffset);
      const last = this.#buffer.at(-1)?.number ?? this.#applied;
      if (read.number === last + 1) this.#buffer.push(read);
      else if (read.number > last) this.#isCurrent = false;
    }
    this.#node?.appended();
  }

  #warn(status: string, { epoch, number }: LogVersion): void {
    const { log, connection } = this.options;
    if (status === 'lost')
      log.write('error', `key-value: redis "${connection.name}" has lost writes up to version ${number}: its pairs count`);
    else if (status === 'other' && (epoch > 0 || number > 0))
      log.write('warn', `key-value: the pairs of this node (version ${number}) are replaced by those of redis "${connection.name}"`);
  }

  async #look(after: LogVersion, count: number): Promise<Look> {
    return (await this.options.connection.script(LOOK, this.#keys, [...place(after), count])) as Look;
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#isCurrent = false;
      throw error instanceof RedisFailure ? this.#unavailable(error) : error;
    }
  }

  #unavailable({ message }: RedisFailure): ApiError {
    return message.startsWith('WRONGTYPE') ? this.#notAppended('foreign', '') : unavailable(message);
  }

  #notAppended(status: string, format: string): ApiError {
    this.#isCurrent = false;
    const { keys, name } = this.options.connection;
    if (status === 'foreign') return unusable(`redis "${name}" has keys "${keys}…" of another program: choose another "prefix"`);
    if (status === 'format')
      return unusable(
        `the data in redis "${name}" has format ${format}, this version of srv has format ${FORMAT}: choose another "prefix"`,
      );
    if (status === 'late') return unavailable('Redis was too slow');
    return new LogConflict();
  }

  /** The response to a change was lost. @returns its number @throws ApiError if it was not made, or if that is unknown */
  async #outcome(mark: number, base: LogVersion, latest: number, keep: Keep): Promise<number> {
    for (const end = Date.now() + OUTCOME_MS; Date.now() < end; await delay(50)) {
      const reply = await this.#look(base, 10_000).catch(() => undefined);
      if (reply === undefined) continue;
      if (reply[0] !== 'ok') break;
      const [, entries] = reply;
      const at = entries.findIndex(([, fields]) => fields[5] === String(mark));
      const [id] = entries[at] ?? [];
      if (id !== undefined) {
        const number = Number.parseInt(id, 10);
        this.#keep(number, mark, entries.slice(0, at), keep);
        return number;
      }
      if (Date.now() > latest) throw unavailable('the connection was lost');
    }
    this.#isCurrent = false;
    throw new LogAway('the connection to Redis was lost during the write, which may have been made: read the pair when Redis is back');
  }

  async #replicated(number: number, mark: number): Promise<void> {
    const { wait, connection } = this.options;
    if (wait === undefined) return;
    const { replicas, timeout } = wait;
    const entry = { stream: this.#keys[2], id: `${number}-1`, field: 'm', value: String(mark) };
    const count = await connection.replicated(replicas, timeout, entry).catch(() => 0);
    if (count < replicas)
      throw new ApiError(
        503,
        'StoreUnavailable',
        `the write is made, but ${count} of ${replicas} replicas have it after ${timeout} ms: a failover may lose it`,
      );
  }

  /** Puts the pairs of this node into an empty Redis. */
  async #begin(version: LogVersion): Promise<void> {
    const { connection, nodeName, log } = this.options;
    const pairs = this.#node?.snapshot()?.state ?? [];
    const mine = `${connection.keys}begin:${nodeName()}`;
    const offers = `${connection.keys}offers`;
    const begin = async (): Promise<string> => {
      await connection.command('DEL', mine);
      for (let at = 0; at < pairs.length; at += SCAN_COUNT) {
        const some = pairs.slice(at, at + SCAN_COUNT).flatMap((pair) => [pair.key.toWellFormed(), storedPair(pair, this.#clockOffset)]);
        await connection.command('HSET', mine, ...some);
        await connection.command('PEXPIRE', mine, 60_000);
      }
      const args = [FORMAT, version.number + 1, String(randomInt(LARGEST_MARK)), nodeName(), version.epoch, version.number];
      const [status] = (await connection.script(BEGIN, [...this.#keys, offers, mine], args)) as readonly [string];
      return status;
    };
    const wait = version.epoch > 0 ? OFFER_MS.cluster : pairs.length > 0 ? OFFER_MS.alone : OFFER_MS.new;
    if (await beginInTurn({ connection, offers, node: nodeName() }, version, wait, begin))
      log.write('notice', `key-value: redis "${connection.name}" was empty and has the ${pairs.length} pairs of this node`);
  }

  async #snapshot(): Promise<Snapshot<readonly PairData[]> | undefined> {
    const { connection } = this.options;
    for (let attempts = 0; attempts < 5; attempts++) {
      const [format, ...start] = (await connection.command('HMGET', this.#keys[0], 'format', 'epoch', 'version', 'mark')) as (
        | string
        | null
      )[];
      if (format !== FORMAT) return undefined;
      const [epoch = 0, number = 0, mark = 0] = start.map(Number);
      const pairs = await this.#scan();
      const version = await this.#fold(pairs, { epoch, number, mark });
      if (version !== undefined) return { version, state: [...pairs.values()] };
    }
    return undefined;
  }

  async #scan(): Promise<Map<string, PairData>> {
    const pairs = new Map<string, PairData>();
    let cursor = '0';
    do {
      const reply = await this.options.connection.command('HSCAN', this.#keys[1], cursor, 'COUNT', SCAN_COUNT);
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
    const [status, entries] = await this.#look(version, 1000);
    if (status !== 'ok') return undefined;
    let last = version;
    for (const { number, mark, content } of entries.map((raw) => this.#entry(raw))) {
      for (const pair of content.set) pairs.set(pair.key, { ...pair, version: number });
      for (const key of content.deleted) pairs.delete(key);
      last = { epoch: version.epoch, number, ...(mark !== undefined && { mark }) };
    }
    return entries.length === 0 ? version : this.#fold(pairs, last);
  }
}

const place = ({ epoch, number, mark = 0 }: LogVersion): readonly [string, string, string, string] => [
  FORMAT,
  String(epoch),
  String(number),
  String(mark),
];

const textOf = (reason: string): string => `the key-value pairs cannot be written: ${reason}; nothing was changed`;

const unavailable = (reason: string): ApiError => new LogAway(textOf(reason));

/** Redis has data that must not be touched. */
const unusable = (reason: string): ApiError => new ApiError(503, 'StoreUnavailable', textOf(reason));
