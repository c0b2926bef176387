import type { ClusterPairs } from '../contract/cluster.js';
import type { PairCall } from '../contract/key-value.js';
import type { Log } from '../contract/log.js';
import { assertInTime } from './change-time.js';
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
import type { PairChange, PairData } from './key-value-copy.js';
import { LocalPairs, type LostWrite } from './local-pairs.js';
import { LogFollower, type NodeStatus } from './log-follower.js';
import type { PairDisk } from './pair-disk.js';
import type { PairEntry } from './pair-entry.js';
import type { PairMemory } from './pair-memory.js';
import { untilDecided } from './waiting-caller.js';

type Caller = Omit<PairCall, 'dryRun'>;

export interface PairWritesOptions {
  /** Their order. */
  readonly commitLog: CommitLog<PairEntry, readonly PairData[]>;
  readonly disk: PairDisk;
  readonly memory: () => PairMemory;
  /** Brings a change into the workers. @param deadline epoch milliseconds, of the caller that waits for it */
  readonly publish: (change: PairChange, deadline?: number) => Promise<void>;
  /** True: without the log of several nodes this one writes by itself. */
  readonly isLocal: () => boolean;
  readonly log: Log;
  /** Name of this node. */
  readonly nodeName: () => string;
  /** Called when this node can follow the log, or cannot any more. */
  readonly onNode?: (status: NodeStatus) => void;
  /** Called for each write that another one has replaced, because both were made without the other. */
  readonly onLost?: (write: LostWrite) => void;
}

/** An entry as this node keeps it. Without a time it is one that this node has just made. */
type KeptEntry = Omit<LogEntry<PairEntry>, 'at' | 'mark'> & { readonly at?: number; readonly mark?: number | undefined };

/** A write that is decided. */
interface Published {
  /** Rejects when a worker is busy. Undefined: there was nothing to change. */
  readonly inWorkers: Promise<void> | undefined;
}

/** Writes of key-value pairs in the order of their log, those of this node and of the others: into disk and memory, then into the workers. */
export class PairWrites {
  readonly #follower: LogFollower<PairEntry, readonly PairData[]>;
  /** Of several nodes. */
  readonly #local: LocalPairs;
  /** It has read what the others have written, since its start. */
  #wasInSync = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: PairWritesOptions) {
    const { commitLog, disk, memory, onNode } = options;
    this.#local = new LocalPairs((work) => disk.writeWithUnsaved(work));
    this.#follower = new LogFollower({
      log: commitLog,
      applied: () => this.version,
      apply: (entry) => this.#published(() => this.#keep(entry)),
      restore: (snapshot) => this.#published(() => this.#restore(snapshot)),
      state: () => this.#local.inLog(memory().all),
      caughtUp: () => this.#merge(),
      inTurn: (work) => this.#inTurn(work),
      changed: (status) => {
        if (status.state === 'in_sync') this.#wasInSync = true;
        onNode?.(status);
      },
    });
  }

  /** Reads the writes that the log does not have. */
  load(): void {
    this.#local.load(this.options.disk.store);
  }

  /** The last version that is applied. */
  get version(): LogVersion {
    this.options.memory();
    return this.options.disk.version;
  }

  /** Part of the version of all pairs: writes that the log does not have. Empty: there are none. */
  get localVersion(): string {
    return this.#local.version;
  }

  /** Where this node is in the order of writes. */
  get node(): NodeStatus {
    return this.#follower.status;
  }

  /** The same, for other nodes. Undefined: the pairs are those of this node alone. */
  get shared(): ClusterPairs | undefined {
    if (!this.options.commitLog.isShared) return undefined;
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

  /** @param make is called in turn, and again when other nodes have written meanwhile. Undefined: nothing changes */
  async change(caller: Caller, make: () => PairEntry | undefined): Promise<void> {
    const { commitLog, disk } = this.options;
    const work = async (waiting: Caller): Promise<void> => {
      const { inWorkers } = await this.#decide(waiting, make);
      await inWorkers;
      // Without Redis this node has to have it as well, after a crash.
      await disk.unsaved.saved();
    };
    await (commitLog.isShared ? untilDecided(caller, work) : work(caller));
  }

  async #decide(caller: Caller, make: () => PairEntry | undefined): Promise<Published> {
    const { commitLog, memory, isLocal, nodeName } = this.options;
    const node = nodeName();
    let inWorkers: Promise<void> | undefined;
    // In turn, so that workers get the changes in their order; the next write does not wait for them.
    const publish = (change: PairChange): void => {
      inWorkers = this.options.publish(change, caller.deadline);
      inWorkers.catch(() => undefined);
    };
    let at = Date.now();
    const append = async (): Promise<void> => {
      assertInTime(caller.deadline ?? Infinity);
      // These are merged first.
      if (this.#local.size > 0) throw new LogConflict();
      const entry = make();
      if (entry === undefined) return;
      at = Date.now();
      const keep = ([number = 0]: readonly number[], appended?: Appended<PairEntry>): void =>
        publish(this.#keepOwn(entry, number, appended));
      await commitLog.append([{ node, at, content: () => entry }], this.version, keep);
    };
    const alone = (error: unknown): void => {
      if (!(error instanceof LogAway) || !isLocal()) throw error;
      const entry = make();
      if (entry !== undefined) publish(memory().take(this.#local.write(entry, memory().all, at)));
    };
    await this.#inTurn(() => this.#follower.inOrder(append).catch(alone));
    return { inWorkers };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** @param before called when the entries of other nodes are kept that this one follows @throws EntryNotKept when the log has it, but this node has not */
  #keepOwn(entry: PairEntry, number: number, appended: Appended<PairEntry> | undefined, before?: () => void): PairChange {
    const { nodeName, commitLog } = this.options;
    try {
      for (const earlier of appended?.before ?? []) void this.#published(() => this.#keep(earlier));
      before?.();
      return this.#keep({ content: entry, number, node: nodeName(), mark: appended?.mark });
    } catch (error) {
      throw commitLog.isShared ? new EntryNotKept((error as Error).message) : error;
    }
  }

  /** Writes of this node that the log does not have. @returns false: other nodes write the same pairs */
  async #merge(): Promise<boolean> {
    const { commitLog, memory, nodeName, onLost } = this.options;
    while (this.#local.size > 0) {
      const { entry, replaced, keys, lost } = this.#local.merge(memory().all);
      const keep = ([number = 0]: readonly number[], appended?: Appended<PairEntry>): void => {
        void this.#published(() => this.#keepOwn(entry, number, appended, () => this.#local.release(keys)));
      };
      try {
        const made = { node: nodeName(), at: Date.now(), content: () => entry };
        if (entry.conditions?.length !== 0) await commitLog.append([made], this.version, keep);
      } catch (error) {
        if (error instanceof LogConflict) return false;
        throw error;
      }
      this.#local.release(keys);
      this.#local.forget(keys, replaced);
      void this.#published(() => memory().take(replaced));
      for (const write of lost) onLost?.(write);
    }
    return true;
  }

  #keep({ content, number, node, mark = 0, at }: KeptEntry): PairChange {
    const { commitLog, disk, memory, nodeName } = this.options;
    const { deleted, times } = content;
    const made = { set: content.set.map((pair) => ({ ...pair, version: number })), deleted };
    if (commitLog.isShared) {
      const isOwn = node === nodeName();
      const change = isOwn ? this.#local.followOwn(made, memory().all) : this.#local.follow(made, (key) => times?.get(key) ?? at);
      disk.unsaved.add(change, { epoch: this.version.epoch, number, mark });
      return memory().take(change);
    }
    disk.write((store) => {
      for (const pair of made.set) store.pairs.put(pair);
      for (const key of deleted) store.pairs.delete(key);
      store.pairVersion = number;
    });
    return memory().take(made);
  }

  /** Replaces all pairs. */
  #restore({ version, state }: Snapshot<readonly PairData[]>): PairChange {
    const { disk, memory } = this.options;
    const { all } = memory();
    const others = this.#local.replace(state);
    const kept = new Set(others.map(({ key }) => key));
    const deleted = [...all.keys()].filter((key) => !kept.has(key) && !this.#local.has(key));
    const set = others.filter(({ key, value, version: of, expires }) => {
      const known = all.get(key);
      return known?.version !== of || known.expires !== expires || known.value !== value;
    });
    disk.write((store) => {
      for (const pair of others) store.pairs.put(pair);
      for (const key of deleted) store.pairs.delete(key);
      store.pairEpoch = version.epoch;
      store.pairVersion = version.number;
      store.pairMark = version.mark ?? 0;
    });
    disk.unsaved.drop();
    return memory().take({ set, deleted });
  }

  /** Publishes a change of other nodes. A worker that is late follows by itself. */
  #published(apply: () => PairChange): Promise<void> {
    const { publish, log } = this.options;
    publish(apply()).catch((error: unknown) => log.write('warn', (error as Error).message));
    return Promise.resolve();
  }
}
