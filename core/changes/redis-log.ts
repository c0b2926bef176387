import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../contract/control.js';
import type { Log } from '../contract/log.js';
import { RedisFailure, type RedisArgument } from '../contract/redis.js';
import {
  LogAway,
  LogConflict,
  LogUnavailable,
  type Appended,
  type CommitLog,
  type LogEntry,
  type LogNode,
  type LogVersion,
  type NewEntry,
  type Snapshot,
} from './commit-log.js';
import { LARGEST_MARK, markOf, numberOf, place, type Append, type Look, type NewEntries, type RedisSequence } from './redis-sequence.js';

/** An entry that reaches Redis later than this, and than a reply is waited for, has no effect; its outcome is waited for a little longer. Milliseconds. */
const APPEND_MS = 1000;
const OUTCOME_MS = 1500;
const RETRY_MS = 50;
/** Entries among which one is looked for whose reply was lost. */
const OUTCOME_PAGE = 10_000;

type Keep<Content> = (numbers: readonly number[], appended: Appended<Content>) => void;

export interface RedisLogOptions<Content, State> {
  readonly sequence: RedisSequence<Content, State>;
  readonly nodeName: () => string;
  readonly log: Log;
}

/**
 * The order of a sequence of several nodes, in Redis. One script appends to a stream, which every node reads; each knows number and mark of the last entry that it
 * has: a server that has lost entries, and got others of the same numbers, is noticed.
 */
export class RedisLog<Content, State> implements CommitLog<Content, State> {
  readonly isShared = true;
  #node: LogNode<State> | undefined;

  constructor(private readonly options: RedisLogOptions<Content, State>) {}

  async append(entries: readonly NewEntry<Content>[], base: LogVersion, keep: Keep<Content>): Promise<readonly number[]> {
    if (entries.length === 0) return [];
    const marks = entries.map(() => String(randomInt(LARGEST_MARK)));
    const appended = { entries, marks, base };
    const args = this.#sequence.newEntries(appended);
    const { timeout, status } = this.#sequence.connection;
    const { clockOffset, latency = 0 } = status;
    const latest = Date.now() + Math.max(APPEND_MS, timeout);
    let numbers: readonly number[];
    try {
      numbers = await this.#append(appended, [Math.ceil(latest + clockOffset), ...args], keep);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      if (error.kind !== 'lost') throw this.#unavailable(error);
      // The clock of Redis is known within the latency.
      numbers = await this.#outcome(appended, latest + latency, keep);
    }
    await this.#replicated(numbers.at(-1) ?? 0, marks.at(-1) ?? '');
    return numbers;
  }

  async entries(after: LogVersion): Promise<readonly LogEntry<Content>[] | undefined> {
    const { connection, buffer, marks, page } = this.#sequence;
    await connection.attempted;
    const { state, reason = '' } = connection.status;
    if (state === 'away') throw this.#away(reason);
    marks?.add(after.epoch, after.number, after.mark ?? 0);
    const known = buffer?.take(after);
    if (known !== undefined) return known;
    const found = await this.#attempt(() => this.#look(after, page));
    const [status, about] = found;
    buffer?.asked(status === 'ok' && about.length === 0);
    if (status === 'ok') return about.map((raw) => this.#sequence.entry(raw, after.epoch));
    if (status === 'foreign' || status === 'format') throw this.#rejected(status, about);
    const replaced = status === 'lost' ? this.#known(after, found) : undefined;
    if (status === 'empty' || replaced !== undefined) await this.#begin(after, replaced);
    else this.#warn(status, after);
    return undefined;
  }

  refresh(): void {
    this.#sequence.buffer?.doubt();
  }

  snapshot(): Promise<Snapshot<State> | undefined> {
    return this.#attempt(() => this.#sequence.snapshot());
  }

  follow(node: LogNode<State>): () => void {
    this.#node = node;
    const { connection, buffer, lookMs } = this.#sequence;
    const look = (): void => {
      buffer?.clear();
      node.appended();
    };
    const ends = [connection.watch(look), this.#sequence.announced(() => node.appended(), node)];
    const timer = setInterval(() => {
      if (connection.status.state === 'ready') look();
    }, lookMs).unref();
    return () => {
      clearInterval(timer);
      for (const end of ends) end();
    };
  }

  get #sequence(): RedisSequence<Content, State> {
    return this.options.sequence;
  }

  async #append(appended: NewEntries<Content>, args: readonly RedisArgument[], keep: Keep<Content>): Promise<readonly number[]> {
    const { connection, append, keys, format } = this.#sequence;
    const reply = (await connection.script(append, keys, [...place(format, appended.base), ...args])) as Append;
    const [status, about] = reply;
    if (status !== 'ok') throw this.#rejected(status, about);
    const [, number, before, count, bytes] = reply;
    const { length } = appended.entries;
    const read = before.map((raw) => this.#sequence.entry(raw, appended.base.epoch));
    const numbers = this.#keep(appended, number - length + 1, read, keep);
    if (this.#node !== undefined) this.#sequence.grew?.(this.#node, count, bytes);
    return numbers;
  }

  /** @param first number of the entries of this node @param before those of others that they follow */
  #keep({ marks, base }: NewEntries<Content>, first: number, before: readonly LogEntry<Content>[], keep: Keep<Content>): readonly number[] {
    const numbers = marks.map((_, at) => first + at);
    for (const [at, mark] of marks.entries()) this.#sequence.marks?.add(base.epoch, first + at, Number(mark));
    try {
      keep(numbers, { before, mark: Number(marks.at(-1)) });
    } catch (error) {
      this.#sequence.buffer?.doubt();
      throw error;
    }
    this.#sequence.buffer?.appended(numbers.at(-1) ?? first);
    return numbers;
  }

  async #look(after: LogVersion, most: number): Promise<Look> {
    const { connection, look, keys, format } = this.#sequence;
    return (await connection.script(look, keys, [...place(format, after), most])) as Look;
  }

  /** The reply to an append was lost. @param limit epoch milliseconds after which it has no effect @throws ApiError if it was not made, or if that is unknown */
  async #outcome(appended: NewEntries<Content>, limit: number, keep: Keep<Content>): Promise<readonly number[]> {
    const { base, marks, entries } = appended;
    const { isStrict, words } = this.#sequence;
    for (const end = Date.now() + OUTCOME_MS; Date.now() < end; await delay(RETRY_MS)) {
      const asked = Date.now();
      const reply = await this.#look(base, isStrict ? entries.length : OUTCOME_PAGE).catch(() => undefined);
      if (reply === undefined) continue;
      if (reply[0] !== 'ok') break;
      const [, found] = reply;
      const at = found.findIndex((raw) => markOf(raw) === marks[0]);
      const first = found[at];
      if (first !== undefined) {
        const before = found.slice(0, at).map((raw) => this.#sequence.entry(raw, base.epoch));
        return this.#keep(appended, numberOf(first), before, keep);
      }
      if (isStrict && found.length > 0) throw new LogConflict();
      if (asked > limit) throw this.#away('the connection was lost');
    }
    this.#sequence.buffer?.doubt();
    const { entry } = words;
    throw new LogAway(`the connection to Redis was lost during the ${entry}, which may have been made: read it when Redis is back`);
  }

  async #replicated(number: number, mark: string): Promise<void> {
    const { wait, connection, stream, words } = this.#sequence;
    if (wait === undefined) return;
    const { replicas, timeout } = wait;
    const entry = { stream, id: `${number}-1`, field: 'm', value: mark };
    const count = await connection.replicated(replicas, timeout, entry).catch(() => 0);
    if (count >= replicas) return;
    const text = `the ${words.entry} is made, but ${count} of ${replicas} replicas have it after ${timeout} ms: a failover may lose it`;
    throw new ApiError(503, 'StoreUnavailable', text);
  }

  /** Place of a log that has lost its last entries, if this node knows that nothing was appended instead. */
  #known({ epoch }: LogVersion, [, number, mark]: Look & { readonly 0: 'lost' }): readonly [string, string, string] | undefined {
    return this.#sequence.marks?.has(epoch, Number(number), Number(mark)) === true ? [String(epoch), number, mark] : undefined;
  }

  async #begin(version: LogVersion, replaced: readonly [string, string, string] | undefined): Promise<void> {
    const snapshot = this.#node?.snapshot();
    if (snapshot === undefined) return;
    const { nodeName, log } = this.options;
    const { words, connection } = this.#sequence;
    const beginning = { version, state: snapshot.state, node: nodeName(), replaced };
    const text = await this.#attempt(() => this.#sequence.begin(beginning));
    if (text === undefined) return;
    const before = replaced === undefined ? 'was empty' : `had lost ${words.entry}s after version ${replaced[1]}`;
    log.write('notice', `${words.subject}: redis "${connection.name}" ${before} and has ${text}`);
  }

  #warn(status: string, { epoch, number }: LogVersion): void {
    const { log } = this.options;
    const { words, connection } = this.#sequence;
    const { subject, entry, state } = words;
    const redis = `redis "${connection.name}"`;
    if (status === 'lost') log.write('error', `${subject}: ${redis} has lost ${entry}s up to version ${number}: its ${state} count`);
    else if (status === 'other' && (epoch > 0 || number > 0))
      log.write('warn', `${subject}: the ${state} of this node (version ${number}) are replaced by those of ${redis}`);
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#sequence.buffer?.doubt();
      throw error instanceof RedisFailure ? this.#unavailable(error) : error;
    }
  }

  #unavailable({ message, code }: RedisFailure): ApiError {
    return code === 'WRONGTYPE' ? this.#rejected('foreign') : this.#away(message);
  }

  #rejected(status: string, format = ''): ApiError {
    const { buffer, connection, format: own } = this.#sequence;
    buffer?.doubt();
    const other = 'choose another "prefix"';
    if (status === 'foreign')
      return this.#unusable(`redis "${connection.name}" has keys "${connection.keys}…" of another program: ${other}`);
    if (status === 'format')
      return this.#unusable(`the data in redis "${connection.name}" has format ${format}, this version of srv has format ${own}: ${other}`);
    if (status === 'late') return this.#away('Redis was too slow');
    return new LogConflict();
  }

  #away(reason: string): ApiError {
    return new LogAway(this.#because(reason), reason);
  }

  /** Redis has data that must not be touched. */
  #unusable(reason: string): ApiError {
    return new LogUnavailable(this.#because(reason), reason);
  }

  #because(reason: string): string {
    return `${this.#sequence.words.rejected}: ${reason}; nothing was changed`;
  }
}
