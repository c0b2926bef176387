import { randomBytes } from 'node:crypto';
import type { Log } from '../../contract/log.js';
import { RedisFailure, type RedisConnection, type RedisEntry } from '../../contract/redis.js';
import type { Zone } from '../zone.js';
import { BatchReader, BatchWriter, MOST_BYTES } from './batch.js';
import { OtherNodes } from './other-nodes.js';
import { readStored, storedParts } from './stored-records.js';
import { FORMAT, sendScript } from './sync-script.js';
import type { SyncedTable } from './synced-table.js';

/** Keys that all nodes send in a tenth of a second: what costs the main thread of each less than a tenth of a core. */
const KEYS = 5000;
const KEYS_MS = 100;
/** A node that has nothing to send shows a sign of life. Milliseconds. */
const ALIVE_MS = 1000;
/** Growth that is older is not added any more. Milliseconds. */
const LATE_MS = 1000;
/** A message in the log is not repeated within. */
const REPEATED_MS = 60_000;
const LONGEST_BATCH = Math.ceil(MOST_BYTES / 3) * 4;

export interface ZoneExchangeOptions {
  readonly connection: RedisConnection;
  readonly nodeName: string;
  readonly log: Log;
}

/** Sends changes of zones to the other nodes, and applies theirs, over one connection to Redis. No request waits for it. */
export class ZoneExchange {
  /** Other ones after each start: a node that was started again holds nothing yet. */
  readonly #id: string;
  /** Grows when changes were not sent: the others drop what this node held, and get all of it again. */
  #generation = 0;
  #isStale = true;
  #zones: readonly Zone[] = [];
  #interval = 0;
  #timer: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;
  readonly #unwatch: () => void;
  readonly #batch = new BatchWriter();
  readonly #script = sendScript();
  readonly #others = new OtherNodes();
  #number = 0;
  #isSending = false;
  #sentAt = -Infinity;
  /** Epoch milliseconds: what was changed until then is sent. */
  #completeAt = -Infinity;
  /** This node has missed something: the others are to send all, and what is stored is to be read. */
  #hasMissed = true;
  #isReading = false;
  /** Id of the last message. */
  #position: string | undefined;
  /** Table to begin with, in turn. */
  #turn = 0;
  readonly #logged = new Map<string, number>();
  #problem: string | undefined;

  constructor(private readonly options: ZoneExchangeOptions) {
    this.#id = `${options.nodeName}:${randomBytes(6).toString('hex')}:`;
    this.#unwatch = options.connection.watch(({ state }) => {
      if (state === 'ready') this.#connected();
    });
  }

  /** @param interval milliseconds */
  share(zones: readonly Zone[], interval: number): void {
    this.#zones = zones;
    if (interval !== this.#interval) {
      clearInterval(this.#timer);
      this.#interval = interval;
      this.#timer = setInterval(() => this.#exchange(), interval).unref();
    }
    this.#hasMissed = true;
    if (this.#isReady) this.#connected();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unwatch();
    this.#unfollow?.();
    for (const node of this.#others.names) this.#release(node, this.#tables());
  }

  get #isReady(): boolean {
    return this.options.connection.status.state === 'ready';
  }

  get #stream(): string {
    return `${this.options.connection.keys}zones`;
  }

  get #offset(): number {
    return this.options.connection.status.clockOffset;
  }

  *#tables(): Generator<SyncedTable> {
    for (const zone of this.#zones) yield* zone.synced.values();
  }

  /** The clock of Redis is known. */
  #connected(): void {
    const { connection } = this.options;
    this.#hasMissed = true;
    this.#isStale = true;
    const position = (): string => this.#position ?? `${Math.floor(Date.now() + this.#offset) - this.#interval}-0`;
    this.#unfollow ??= connection.follow(this.#stream, position, (entries) => this.#read(entries));
  }

  #resend(since: number): void {
    for (const table of this.#tables()) table.resend(since);
  }

  #exchange(): void {
    for (const node of this.#others.gone()) this.#release(node, this.#tables());
    if (!this.#isReady) return this.#forget();
    if (this.#isSending) return performance.now() - this.#sentAt > LATE_MS ? this.#forget() : undefined;
    if (this.#isStale) this.#renew();
    const taken = this.#take();
    if (taken === 0 && !this.#hasMissed && performance.now() - this.#sentAt < ALIVE_MS) return;
    void this.#send();
  }

  #renew(): void {
    this.#isStale = false;
    this.#generation++;
    this.#number = 0;
    this.#resend(this.#completeAt - LATE_MS);
  }

  /** Old differences are sent to none. Records and holds are sent once more when Redis is back. */
  #forget(): void {
    this.#isStale = true;
    for (const table of this.#tables()) table.forget();
  }

  #take(): number {
    const tables = [...this.#tables()];
    this.#batch.clear();
    const most = Math.max(1, Math.ceil((KEYS * this.#interval) / KEYS_MS / (this.#others.size + 1)));
    let taken = 0;
    for (let at = 0; at < tables.length && taken < most; at++)
      taken += tables[(at + this.#turn) % tables.length]!.take(most - taken, this.#batch, this.#offset);
    this.#turn++;
    return taken;
  }

  async #send(): Promise<void> {
    const { connection } = this.options;
    const takenAt = Date.now();
    const isAll = [...this.#tables()].every(({ waiting }) => waiting === 0);
    const { text } = this.#batch;
    const hello = this.#hasMissed;
    this.#isSending = true;
    this.#sentAt = performance.now();
    try {
      const tables = new Map(Array.from(this.#tables(), (table) => [table.id, table]));
      const parts = storedParts(text, tables, connection.keys, takenAt + this.#offset);
      const keys = [this.#stream, `${this.#stream}:format`, ...parts.map(({ key }) => key)];
      const args = [FORMAT, `${this.#id}${this.#generation}`, ++this.#number, hello ? 1 : 0, text, ...parts.flatMap((part) => part.args)];
      const [status, format] = (await connection.script(this.#script, keys, args)) as readonly string[];
      if (status === 'format')
        return this.#failed(`the data has format ${format}, this version of srv has format ${FORMAT}: choose another "prefix"`);
      if (isAll) this.#completeAt = takenAt;
      // Its data is gone: later nodes find what this one has.
      if (status === 'new') this.#resend(-Infinity);
      if (hello) this.#readStored();
      this.#worked();
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      this.#isStale = true;
      if (error.kind === 'rejected') this.#failed(error.message);
    } finally {
      this.#isSending = false;
    }
  }

  /** Records that were changed while this node was away. */
  #readStored(): void {
    this.#hasMissed = false;
    if (this.#isReading) return;
    this.#isReading = true;
    const ignored = (): void => this.#ignored('a record that is malformed');
    const read = async (): Promise<void> => {
      for (const table of this.#tables())
        if (table.kind === 'last') await readStored(this.options.connection, table, Date.now() + this.#offset, this.#offset, ignored);
    };
    read()
      .catch((error: unknown) => {
        this.#hasMissed = true;
        if (error instanceof RangeError) this.#ignored(error.message);
        else if (error instanceof RedisFailure && error.kind === 'rejected') this.#failed(error.message);
      })
      .finally(() => (this.#isReading = false));
  }

  #read(entries: readonly RedisEntry[]): void {
    const tables = new Map(Array.from(this.#tables(), (table) => [table.id, table]));
    for (const entry of entries) {
      this.#position = entry.id;
      try {
        this.#receive(entry, tables);
      } catch (error) {
        this.#ignored((error as Error).message);
      }
    }
  }

  /** @throws RangeError for what is malformed, and what a module throws */
  #receive({ id, fields }: RedisEntry, tables: ReadonlyMap<string, SyncedTable>): void {
    const [n, node = '', s, number, h, hello, d, text = ''] = fields;
    if (`${n}${s}${h}${d}` !== 'nshd' || node.length > 200) throw new RangeError('a message of another program');
    if (node.startsWith(this.#id)) return;
    if (text.length > LONGEST_BATCH) throw new RangeError(`a message of ${text.length} bytes`);
    for (const former of this.#others.formerOf(node)) this.#release(former, tables.values());
    const seen = this.#others.seen(node, Number(number));
    if (seen === 'unknown') throw new RangeError('a message of too many nodes');
    if (seen === 'missed' && hello !== '1') this.#hasMissed = true;
    if (hello === '1') for (const table of tables.values()) if (table.kind === 'sum') table.resend(-Infinity);
    const isLate = Date.now() + this.#offset - Number.parseInt(id, 10) > Math.max(LATE_MS, 2 * this.#interval);
    for (const section of new BatchReader(text).sections()) {
      const table = tables.get(section.shape.id);
      if (table === undefined) this.#ignored(`"${section.shape.id}", which this node does not have, from node ${node}`);
      else if (table.kind !== 'count' || !isLate) table.apply(section, this.#offset, node);
    }
  }

  #release(node: string, tables: Iterable<SyncedTable>): void {
    for (const table of tables) table.release(node);
  }

  #ignored(what: string): void {
    const last = this.#logged.get('ignored') ?? -Infinity;
    if (performance.now() - last < REPEATED_MS) return;
    this.#logged.set('ignored', performance.now());
    this.options.log.write('warn', `zones over redis "${this.options.connection.name}": ignored ${what.slice(0, 200)}`);
  }

  #failed(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.options.log.write('error', `zones are not shared over redis "${this.options.connection.name}": ${problem}`);
  }

  #worked(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.options.log.write('notice', `zones are shared over redis "${this.options.connection.name}" again`);
  }
}
