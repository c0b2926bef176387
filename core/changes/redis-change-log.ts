import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../contract/control.js';
import type { Log } from '../contract/log.js';
import { RedisFailure, type ClusterChanges, type RedisConnection, type RedisEntry } from '../contract/redis.js';
import type { ChangeContent } from './change-content.js';
import {
  LogConflict,
  type Appended,
  type CommitLog,
  type LogEntry,
  type LogNode,
  type LogVersion,
  type NewEntry,
  type Snapshot,
} from './commit-log.js';
import { ContentSeal } from './content-seal.js';
import { APPEND, BEGIN, FORMAT, LOOK, SAVE } from './redis-change-scripts.js';
import { KnownMarks } from './known-marks.js';
import { beginInTurn } from './redis-offers.js';
import { readSnapshot, writeSnapshot } from './redis-snapshot.js';
import type { StoreState } from './store-state.js';

/** A change that reaches Redis later than this has no effect; its outcome is waited for a little longer. Milliseconds. */
const APPEND_MS = 1000;
const OUTCOME_MS = 1500;
/** How often a node looks for changes that no notification has announced: data of Redis may be deleted or replaced. */
const LOOK_MS = 5000;
/** How long a node that could begin the log waits for one with later changes. */
const OFFER_MS = 500;
/** Changes, and their bytes, after which the node that made the last one writes a snapshot. */
const MOST_CHANGES = 200;
const MOST_BYTES = 4 * 1024 ** 2;
/** Changes that are read at once. */
const PAGE = 20;
/** A question of another node is responded to so long. Milliseconds. */
const QUESTION_MS = 2000;
const LARGEST_MARK = 2 ** 47;
/** Nodes that are asked for a snapshot do not all write it at the same time. */
const WANTED_MS = 200;

/** In the form that Redis gives an entry of a stream in a script. */
type RawEntry = readonly [id: string, fields: readonly string[]];
type Keep = (numbers: readonly number[], appended?: Appended<ChangeContent>) => void;
type Look =
  | readonly [status: 'ok', entries: readonly RawEntry[]]
  | readonly [status: 'snapshot' | 'other' | 'empty' | 'foreign']
  | readonly [status: 'lost', version: string, mark: string]
  | readonly [status: 'format', format: string];

export interface RedisChangeLogOptions {
  readonly changes: () => ClusterChanges;
  readonly nodeName: () => string;
  readonly log: Log;
}

/**
 * The order of changes of the configuration of several nodes, in Redis. A change follows the last one, or is a conflict: nodes go through the same
 * versions.
 */
export class RedisChangeLog implements CommitLog<ChangeContent, StoreState> {
  readonly isShared = true;
  #node: LogNode<StoreState> | undefined;
  readonly #seal: ContentSeal;
  readonly #marks = new KnownMarks();
  #isSaving = false;
  #asked: (question: string) => void = () => undefined;

  constructor(private readonly options: RedisChangeLogOptions) {
    this.#seal = new ContentSeal(() => options.changes().secret);
  }

  async append(entries: readonly NewEntry<ChangeContent>[], base: LogVersion, keep: Keep): Promise<readonly number[]> {
    const [first] = entries;
    if (first === undefined) return [];
    const numbers = entries.map((_, at) => base.number + at + 1);
    const contents = entries.map(({ content }, at) => this.#seal.seal(content(), `change ${numbers[at]}`));
    const marks = entries.map(() => randomInt(LARGEST_MARK));
    const latest = Date.now() + APPEND_MS;
    const making = [Math.ceil(latest + this.#connection.status.clockOffset), first.node, first.at];
    const sent = contents.flatMap((content, at) => [String(marks[at]), content]);
    const kept = (): void => {
      for (const [at, number] of numbers.entries()) this.#marks.add(base.epoch, number, marks[at] ?? 0);
      keep(numbers, { before: [], mark: marks.at(-1) ?? 0 });
    };
    try {
      const reply = await this.#connection.script(APPEND, this.#keys, [...place(base), ...making, ...sent]);
      const [status, about, count = 0, bytes = 0] = reply as readonly [string, number | string, number?, number?];
      if (status !== 'ok') throw this.#notAppended(status, String(about));
      kept();
      if (count >= MOST_CHANGES || bytes >= MOST_BYTES) void this.#save();
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      if (error.kind !== 'lost') throw unavailable(error.message);
      await this.#outcome(marks[0] ?? 0, base, latest);
      kept();
    }
    await this.#replicated(numbers.at(-1) ?? 0, marks.at(-1) ?? 0);
    return numbers;
  }

  async entries(after: LogVersion): Promise<readonly LogEntry<ChangeContent>[] | undefined> {
    await this.#connection.attempted;
    const { state, reason } = this.#connection.status;
    if (state === 'away') throw unavailable(reason ?? '');
    this.#marks.add(after.epoch, after.number, after.mark ?? 0);
    const found = await attempt(() => this.#look(after));
    const [status, about, mark] = found;
    if (status === 'ok') return about.map((raw) => this.#entry(raw, after.epoch));
    if (status === 'empty') await this.#begin(after);
    else if (status === 'lost' && this.#marks.has(after.epoch, Number(about), Number(mark)))
      await this.#begin(after, [String(after.epoch), about, mark]);
    else if (status === 'foreign' || status === 'format') throw this.#notAppended(status, String(about));
    else this.#warn(status, after);
    return undefined;
  }

  snapshot(): Promise<Snapshot<StoreState> | undefined> {
    return attempt(() => readSnapshot<StoreState>(this.#connection, this.#keys[3], this.#seal));
  }

  /** Asks the other nodes for a snapshot of this version or a later one. @returns false: there is none after `ms` milliseconds */
  async wantSnapshot(number: number, ms: number): Promise<boolean> {
    const [config, , news] = this.#keys;
    const isThere = async (): Promise<boolean> => Number(await this.#connection.command('HGET', config, 'snapshot')) >= number;
    return attempt(async () => {
      await this.#connection.command('XADD', news, 'MAXLEN', 10, '*', 'w', number);
      for (const end = Date.now() + ms; Date.now() < end; await delay(50)) if (await isThere()) return true;
      return isThere();
    });
  }

  /** @param asked called with each question of another node */
  listen(asked: (question: string) => void): void {
    this.#asked = asked;
  }

  /** When a change was made (epoch milliseconds). Undefined: the log does not have it. @throws RedisFailure */
  async timeOf(number: number): Promise<number | undefined> {
    const reply = await this.#connection.command('XRANGE', this.#keys[1], `${number}-1`, `${number}-1`);
    const [entry] = reply as readonly RawEntry[];
    return entry && Number(entry[1][3]);
  }

  follow(node: LogNode<StoreState>): () => void {
    this.#node = node;
    const look = (): void => node.appended();
    const ends = [
      this.#connection.watch(look),
      this.#connection.follow(
        this.#keys[2],
        () => '0-0',
        (entries) => this.#read(entries),
      ),
    ];
    const timer = setInterval(() => {
      if (this.#connection.status.state === 'ready') look();
    }, LOOK_MS).unref();
    return () => {
      clearInterval(timer);
      for (const end of ends) end();
    };
  }

  get #connection(): RedisConnection {
    return this.options.changes().connection;
  }

  get #keys(): [config: string, changes: string, news: string, snapshot: string, offers: string] {
    const config = `${this.#connection.keys}config`;
    return [config, `${config}:changes`, `${config}:news`, `${config}:snapshot`, `${config}:offers`];
  }

  /** Content is read when it is applied: a node that cannot read it stops there. */
  #entry([id, fields]: RawEntry, epoch: number): LogEntry<ChangeContent> {
    const [, node = '', , at = '0', , mark = '0', , content = ''] = fields;
    const number = Number.parseInt(id, 10);
    const open = (): ChangeContent => {
      const opened = this.#seal.open(content, `change ${number}`) as ChangeContent;
      this.#marks.add(epoch, number, Number(mark));
      return opened;
    };
    return {
      number,
      node,
      at: Number(at),
      mark: Number(mark),
      get content() {
        return open();
      },
    };
  }

  #read(entries: readonly RedisEntry[]): void {
    this.#node?.appended();
    // Those from before a connection was made may be old.
    const since = Date.now() + this.#connection.status.clockOffset - QUESTION_MS;
    for (const { id, fields } of entries) {
      const [name, value = ''] = fields;
      if (name === 'q' && Number.parseInt(id, 10) > since) this.#asked(value);
    }
    const wanted = entries.map(({ fields: [name, value] }) => (name === 'w' ? Number(value) : 0));
    const latest = Math.max(0, ...wanted);
    if (latest > 0) setTimeout(() => void this.#save(latest), randomInt(WANTED_MS)).unref();
  }

  async #look(after: LogVersion): Promise<Look> {
    return (await this.#connection.script(LOOK, this.#keys, [...place(after), PAGE])) as Look;
  }

  #warn(status: string, { epoch, number }: LogVersion): void {
    const { log } = this.options;
    const { name } = this.#connection;
    if (status === 'lost') log.write('error', `configuration: redis "${name}" has lost changes up to version ${number}: its changes count`);
    else if (status === 'other' && (epoch > 0 || number > 0))
      log.write('warn', `configuration: the changes of this node (version ${number}) are replaced by those of redis "${name}"`);
  }

  #notAppended(status: string, format: string): ApiError {
    const { keys, name } = this.#connection;
    if (status === 'foreign') return unavailable(`redis "${name}" has keys "${keys}config…" of another program: choose another "prefix"`);
    if (status === 'format')
      return unavailable(
        `the data in redis "${name}" has format ${format}, this version of srv has format ${FORMAT}: choose another "prefix"`,
      );
    if (status === 'late') return unavailable('Redis was too slow');
    return new LogConflict();
  }

  /** Resolves if a change whose reply was lost is in the log. @param mark its own @throws ApiError if it is not, or if that is unknown */
  async #outcome(mark: number, base: LogVersion, latest: number): Promise<void> {
    for (const end = Date.now() + OUTCOME_MS; Date.now() < end; await delay(50)) {
      const reply = await this.#look(base).catch(() => undefined);
      if (reply === undefined) continue;
      const [status, entries] = reply;
      if (status !== 'ok') break;
      const [next] = entries;
      if (next !== undefined) {
        if (next[1][5] === String(mark)) return;
        throw new LogConflict();
      }
      if (Date.now() > latest) throw unavailable('the connection was lost');
    }
    const text = 'the connection to Redis was lost during the change, which may have been made: GET shows it when Redis is back';
    throw new ApiError(503, 'StoreUnavailable', text);
  }

  async #replicated(number: number, mark: number): Promise<void> {
    const { wait } = this.options.changes();
    if (wait === undefined) return;
    const { replicas, timeout } = wait;
    const entry = { stream: this.#keys[1], id: `${number}-1`, field: 'm', value: String(mark) };
    const count = await this.#connection.replicated(replicas, timeout, entry).catch(() => 0);
    if (count >= replicas) return;
    const text = `the change is made, but ${count} of ${replicas} replicas have it after ${timeout} ms: a failover may lose it`;
    throw new ApiError(503, 'StoreUnavailable', text);
  }

  /**
   * Puts the state of this node into an empty Redis, or into one that has lost the last changes of its log, unless another node has later ones.
   * @param lost epoch, version and mark of the log there
   */
  async #begin(version: LogVersion, lost: readonly string[] = ['', '', '']): Promise<void> {
    const { nodeName, log } = this.options;
    const [, , news, , offers] = this.#keys;
    const connection = this.#connection;
    await attempt(async () => {
      const state = this.#node?.snapshot()?.state;
      if (state === undefined) return;
      await connection.command('XADD', news, 'MAXLEN', 10, '*', 'o', nodeName());
      const [number, mark] = [version.number + 1, String(randomInt(LARGEST_MARK))];
      const begin = async (): Promise<string> => {
        const mine = await this.#write(state, number);
        const args = [FORMAT, version.epoch, version.number, number, mark, nodeName(), ...lost];
        const [status] = (await connection.script(BEGIN, [...this.#keys, mine], args)) as readonly [string];
        return status;
      };
      if (!(await beginInTurn({ connection, offers, node: nodeName() }, version, OFFER_MS, begin))) return;
      const { name } = this.#connection;
      const text = lost[0] === '' ? 'was empty and has' : `had lost changes after version ${lost[1]} and has`;
      log.write('notice', `configuration: redis "${name}" ${text} the changes of this node, version ${number}`);
    });
  }

  /** @param wanted version that it has to have at least */
  async #save(wanted = 0): Promise<void> {
    if (this.#isSaving) return;
    this.#isSaving = true;
    try {
      const snapshot = this.#node?.snapshot();
      if (snapshot === undefined || snapshot.version.number < wanted) return;
      const { version, state } = snapshot;
      const mine = await this.#write(state, version.number);
      await this.#connection.script(SAVE, [...this.#keys, mine], place(version));
    } catch (error) {
      this.options.log.write('warn', `configuration: no snapshot for other nodes: ${(error as Error).message}`);
    } finally {
      this.#isSaving = false;
    }
  }

  /** @returns the key of a snapshot that is not in use yet */
  async #write(state: StoreState, number: number): Promise<string> {
    const key = `${this.#keys[3]}:${this.options.nodeName()}`;
    await writeSnapshot(this.#connection, key, { state, number }, this.#seal);
    return key;
  }
}

const place = ({ epoch, number, mark = 0 }: LogVersion): readonly [string, string, string, string] => [
  FORMAT,
  String(epoch),
  String(number),
  String(mark),
];

async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RedisFailure ? unavailable(error.message) : error;
  }
}

function unavailable(reason: string): ApiError {
  return new ApiError(503, 'StoreUnavailable', `the configuration of the cluster cannot be changed: ${reason}; nothing was changed`);
}
