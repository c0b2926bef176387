import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../contract/log.js';
import type { ClusterChanges, RedisArgument, RedisConnection, RedisEntry } from '../contract/redis.js';
import type { ChangeContent } from './change-content.js';
import type { LogEntry, LogNode, Snapshot } from './commit-log.js';
import { ContentSeal } from './content-seal.js';
import { KnownMarks } from './known-marks.js';
import { APPEND, BEGIN, FORMAT, LOOK, SAVE } from './redis-change-scripts.js';
import { beginInTurn } from './redis-offers.js';
import {
  LARGEST_MARK,
  markOf,
  numberOf,
  place,
  type LogBeginning,
  type NewEntries,
  type RawEntry,
  type RedisSequence,
} from './redis-sequence.js';
import { readSnapshot, writeSnapshot } from './redis-snapshot.js';
import type { StoreState } from './store-state.js';

/** How long a node that could begin the log waits for one with later changes. Milliseconds. */
const OFFER_MS = 500;
/** Changes, and their bytes, after which the node that made the last one writes a snapshot. */
const MOST_CHANGES = 200;
const MOST_BYTES = 4 * 1024 ** 2;
/** A question of another node is responded to so long. Milliseconds. */
const QUESTION_MS = 2000;
/** Nodes that are asked for a snapshot do not all write it at the same time. */
const WANTED_MS = 200;

type Keys = readonly [config: string, changes: string, news: string, snapshot: string, offers: string];

export interface ChangeSequenceOptions {
  readonly changes: () => ClusterChanges;
  readonly nodeName: () => string;
  readonly log: Log;
}

/** Changes of the configuration of several nodes, in Redis. A change follows the last one, or is a conflict: nodes go through the same versions. */
export class ChangeSequence implements RedisSequence<ChangeContent, StoreState> {
  readonly words = {
    subject: 'configuration',
    entry: 'change',
    state: 'changes',
    rejected: 'the configuration of the cluster cannot be changed',
  };
  readonly format = FORMAT;
  readonly look = LOOK;
  readonly append = APPEND;
  readonly isStrict = true;
  readonly lookMs = 5000;
  readonly page = 20;
  readonly marks = new KnownMarks();
  readonly #seal: ContentSeal;
  #isSaving = false;
  #asked: (question: string) => void = () => undefined;

  constructor(private readonly options: ChangeSequenceOptions) {
    this.#seal = new ContentSeal(() => options.changes().secret);
  }

  get connection(): RedisConnection {
    return this.options.changes().connection;
  }

  get wait(): ClusterChanges['wait'] {
    return this.options.changes().wait;
  }

  get keys(): Keys {
    const config = `${this.connection.keys}config`;
    return [config, `${config}:changes`, `${config}:news`, `${config}:snapshot`, `${config}:offers`];
  }

  get stream(): string {
    return this.keys[1];
  }

  newEntries({ entries, marks, base }: NewEntries<ChangeContent>): readonly RedisArgument[] {
    const [first] = entries;
    const sealed = entries.flatMap(({ content }, at) => [marks[at] ?? '', this.#seal.seal(content(), `change ${base.number + at + 1}`)]);
    return [first?.node ?? '', first?.at ?? 0, ...sealed];
  }

  /** Content is read when it is applied: a node that cannot read it stops there. */
  entry(raw: RawEntry, epoch: number): LogEntry<ChangeContent> {
    const [, [, node = '', , at = '0', , , , content = '']] = raw;
    const [number, mark] = [numberOf(raw), Number(markOf(raw))];
    const open = (): ChangeContent => {
      const opened = this.#seal.open(content, `change ${number}`) as ChangeContent;
      this.marks.add(epoch, number, mark);
      return opened;
    };
    return {
      number,
      node,
      at: Number(at),
      mark,
      get content() {
        return open();
      },
    };
  }

  snapshot(): Promise<Snapshot<StoreState> | undefined> {
    return readSnapshot<StoreState>(this.connection, this.keys[3], this.#seal);
  }

  /** Into an empty Redis, or into one that has lost the last changes of its log, unless another node has later ones. */
  async begin({ version, state, node, replaced = ['', '', ''] }: LogBeginning<StoreState>): Promise<string | undefined> {
    const { connection } = this;
    const [, , news, , offers] = this.keys;
    await connection.command('XADD', news, 'MAXLEN', 10, '*', 'o', node);
    const [number, mark] = [version.number + 1, String(randomInt(LARGEST_MARK))];
    const begin = async (): Promise<string> => {
      const mine = await this.#write(state, number);
      const args = [FORMAT, version.epoch, version.number, number, mark, node, ...replaced];
      const [status] = (await connection.script(BEGIN, [...this.keys, mine], args)) as readonly [string];
      return status;
    };
    const isBegun = await beginInTurn({ connection, offers, node }, version, OFFER_MS, begin);
    return isBegun ? `the changes of this node, version ${number}` : undefined;
  }

  announced(read: () => void, node: LogNode<StoreState>): () => void {
    const heard = (entries: readonly RedisEntry[]): void => {
      read();
      this.#hear(entries, node);
    };
    return this.connection.follow(this.keys[2], () => '0-0', heard);
  }

  grew(node: LogNode<StoreState>, count: number, bytes: number): void {
    if (count >= MOST_CHANGES || bytes >= MOST_BYTES) void this.#save(node);
  }

  /** Asks the other nodes for a snapshot of this version or a later one. @returns false: there is none after `ms` milliseconds @throws RedisFailure */
  async wantSnapshot(number: number, ms: number): Promise<boolean> {
    const { connection } = this;
    const [config, , news] = this.keys;
    const isThere = async (): Promise<boolean> => Number(await connection.command('HGET', config, 'snapshot')) >= number;
    await connection.command('XADD', news, 'MAXLEN', 10, '*', 'w', number);
    for (const end = Date.now() + ms; Date.now() < end; await delay(50)) if (await isThere()) return true;
    return isThere();
  }

  /** @param asked called with each question of another node */
  listen(asked: (question: string) => void): void {
    this.#asked = asked;
  }

  /** When a change was made (epoch milliseconds). Undefined: the log does not have it. @throws RedisFailure */
  async timeOf(number: number): Promise<number | undefined> {
    const reply = await this.connection.command('XRANGE', this.stream, `${number}-1`, `${number}-1`);
    const [entry] = reply as readonly RawEntry[];
    return entry && Number(entry[1][3]);
  }

  #hear(entries: readonly RedisEntry[], node: LogNode<StoreState>): void {
    // Those from before a connection was made may be old.
    const since = Date.now() + this.connection.status.clockOffset - QUESTION_MS;
    for (const { id, fields } of entries) {
      const [name, value = ''] = fields;
      if (name === 'q' && Number.parseInt(id, 10) > since) this.#asked(value);
    }
    const wanted = entries.map(({ fields: [name, value] }) => (name === 'w' ? Number(value) : 0));
    const latest = Math.max(0, ...wanted);
    if (latest > 0) setTimeout(() => void this.#save(node, latest), randomInt(WANTED_MS)).unref();
  }

  /** @param wanted version that it has to have at least */
  async #save(node: LogNode<StoreState>, wanted = 0): Promise<void> {
    if (this.#isSaving) return;
    this.#isSaving = true;
    try {
      const snapshot = node.snapshot();
      if (snapshot === undefined || snapshot.version.number < wanted) return;
      const { version, state } = snapshot;
      const mine = await this.#write(state, version.number);
      await this.connection.script(SAVE, [...this.keys, mine], place(FORMAT, version));
    } catch (error) {
      this.options.log.write('warn', `configuration: no snapshot for other nodes: ${(error as Error).message}`);
    } finally {
      this.#isSaving = false;
    }
  }

  /** @returns the key of a snapshot that is not in use yet */
  async #write(state: StoreState, number: number): Promise<string> {
    const key = `${this.keys[3]}:${this.options.nodeName()}`;
    await writeSnapshot(this.connection, key, { state, number }, this.#seal);
    return key;
  }
}
