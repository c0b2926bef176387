import { loadModuleLine } from './load-module-line.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import { storeApiError } from './api-errors.js';
import { assertInTime, type ChangeTime } from './change-time.js';
import type { ChangeContent } from './change-content.js';
import { EntryNotKept, type LogEntry, type LogVersion } from './commit-log.js';
import { assertHeapRoom } from './heap-room.js';
import type { TransactionOptions } from './transaction-options.js';
import type { ChangeInputs } from './participant.js';
import { WorkerRound } from './worker-round.js';

/** Origin of a change that makes another file the configuration. */
export const RELOAD = 'reload';

/** A change as it goes into the history, under a version of its own. */
export interface PlannedVersion {
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly operations: readonly TreeOperation[];
  /** Request id of the call, or {@link RELOAD}. */
  readonly origin: string;
  /** The author of the call; empty: the server itself. */
  readonly actor: string;
  /** Why, in the words of the caller; empty: nothing was said. */
  readonly message: string;
  /** It has to be on disk before it is active. The rest of a reload is read from its files by the next start as well. */
  readonly keeps: boolean;
  /** Writes it down, inside a store transaction; returns what goes into the history. */
  readonly record: (version: number) => unknown;
  /** As other nodes get it, before it is recorded. */
  readonly content: () => ChangeContent;
  /** Steps in the master once the change is active there. */
  readonly followUp: () => void;
}

/** Versions that take effect together. */
export interface Plan {
  /** Net operations of all versions. */
  readonly operations: readonly TreeOperation[];
  readonly after: ConfigTree;
  readonly time: ChangeTime;
  /** In their order. */
  readonly versions: readonly PlannedVersion[];
}

/** Node that made changes, the time (epoch milliseconds), and the mark of the last one (see {@link LogVersion.mark}; 0: it has none). */
type Making = Pick<LogEntry<unknown>, 'node' | 'at'> & { readonly mark: number };

/** A change that is in the log: the version of each of the planned ones, and the node that made them. */
interface Decided {
  readonly numbers: readonly number[];
  readonly node: string;
}

/** Applies changes: prepare in every thread, append to the log, commit everywhere. One after the other. */
export class Committer {
  #version: LogVersion;
  #inForce: LogVersion;
  #tx = 0;

  constructor(private readonly options: TransactionOptions) {
    const { epoch, version: number, mark } = options.store;
    this.#version = this.#inForce = placeOf(epoch, number, mark);
  }

  /** Of the current configuration. */
  get version(): number {
    return this.#version.number;
  }

  /** The same, with its epoch. */
  get logVersion(): LogVersion {
    return this.#version;
  }

  /** The last version that was applied in all workers. */
  get inForce(): LogVersion {
    return this.#inForce;
  }

  /** The version of a start: a new one, unless other nodes count versions as well. */
  begin(): number {
    const { number } = this.#version;
    if (!this.options.commitLog.isShared) this.#version = { ...this.#version, number: number + 1 };
    this.#inForce = this.#version;
    return this.version;
  }

  /** Finds out in the master whether a change is possible. @throws ConfigErrors, ApiError 507 */
  async check({ operations, after }: Pick<Plan, 'operations' | 'after'>): Promise<void> {
    this.#assertRoom({ operations, after });
    (await this.options.instance.prepare(operations, { rereads: false, after })).abort();
  }

  /**
   * @returns the version of the configuration after each of the planned ones, active in every worker
   * @throws ConfigErrors, ApiError: nothing has changed; 503 from the last step, when a worker is late: all has
   */
  carryOut(plan: Plan): Promise<readonly number[]> {
    return this.#carryOut(plan, (commit) => this.#append(plan.versions, commit));
  }

  /** Carries out an entry of the log: it is decided already. @throws as {@link carryOut} */
  async follow(plan: Plan, { number, node, at, mark = 0 }: LogEntry<ChangeContent>): Promise<void> {
    await this.#carryOut(plan, (commit) => {
      this.#keep(plan.versions, [number], { node, at, mark });
      commit({ numbers: [number], node });
    });
  }

  /**
   * Takes over the state of another node.
   * @param keep writes it into the store, inside a transaction
   * @throws as {@link carryOut}
   */
  async restore(plan: Plan, version: LogVersion, keep: () => void): Promise<void> {
    const { store, nodeName } = this.options;
    await this.#carryOut(plan, (commit) => {
      store.keep();
      store.transaction(() => {
        keep();
        if (store.epoch !== version.epoch) store.epoch = version.epoch;
        store.version = version.number;
        store.mark = version.mark ?? 0;
      });
      this.#version = version;
      commit({ numbers: plan.versions.map(() => version.number), node: nodeName() });
    });
  }

  /** @param decide the commit point: keeps the change, and calls `commit` at once, so that version and tree are always those of one change */
  async #carryOut(plan: Plan, decide: (commit: (decided: Decided) => void) => unknown): Promise<readonly number[]> {
    const { after, operations, versions, time } = plan;
    const { instance, log } = this.options;
    this.#assertRoom(plan);
    // A reload reads what directives name again, also where the tree stays as it is: a certificate may have been renewed.
    const rereads = versions.some(isReload);
    const prepared = await instance.prepare(operations, { rereads, after, isChecked: rereads });
    const participants = operations.length === 0 && !rereads ? [] : [...this.options.participants()];
    const round = new WorkerRound(++this.#tx, participants, log, (module) => loadModuleLine(module, after));
    let numbers: readonly number[] | undefined;
    let failure: unknown;
    try {
      const { files = new Map(), modules } = prepared;
      await this.#prepareWorkers(round, plan, { rereads, files, modules });
      await decide((decided) => {
        numbers = decided.numbers;
        prepared.commit();
        for (const { followUp } of versions) followUp();
        for (const [at, version] of versions.entries()) this.#tell(version, numbers[at] ?? 0, decided.node);
      });
    } catch (error) {
      if (numbers === undefined) {
        round.abort();
        prepared.abort();
        throw error;
      }
      failure = error;
    }
    await round.commit(time.limit);
    this.#inForce = this.#version;
    this.options.onInForce?.();
    // The change is active; what is to be known of it is in the error.
    if (failure !== undefined) throw failure;
    return numbers ?? [];
  }

  async #prepareWorkers(round: WorkerRound, { operations, time }: Plan, inputs: ChangeInputs): Promise<void> {
    await round.prepare(operations, Math.min(time.limit, time.deadline - Date.now()), inputs);
    assertInTime(time.deadline);
  }

  #assertRoom({ operations, after }: Pick<Plan, 'operations' | 'after'>): void {
    assertHeapRoom(this.options.instance.tree, after, operations, this.options.heapSize());
  }

  async #append(versions: readonly PlannedVersion[], commit: (decided: Decided) => void): Promise<void> {
    const { commitLog, nodeName } = this.options;
    // The files of a node are its own.
    const changes = new Set(versions.filter((version) => isChange(version) && !(commitLog.isShared && isReload(version))));
    const making = { node: nodeName(), at: Date.now() };
    let { number } = this.#version;
    const decided = { numbers: versions.map((version) => (changes.has(version) ? ++number : number)), node: making.node };
    if (changes.size === 0) {
      this.#keepFiles(versions);
      commit(decided);
      return;
    }
    const entries = [...changes].map(({ content }) => ({ ...making, content }));
    let [isDecided, isKept] = [false, false];
    try {
      await commitLog.append(entries, this.#version, (numbers, appended) => {
        isDecided = true;
        this.#keep([...changes], numbers, { ...making, mark: appended?.mark ?? 0 });
        isKept = true;
        commit(decided);
      });
    } catch (error) {
      if (!isDecided || isKept || !commitLog.isShared) throw error;
      throw new EntryNotKept(error instanceof Error ? error.message : String(error));
    }
  }

  /** Writes changes into the store, under their numbers. */
  #keep(versions: readonly PlannedVersion[], numbers: readonly number[], { node, at, mark }: Making): void {
    const { store } = this.options;
    const last = numbers.at(-1) ?? this.version;
    this.#write(versions, () => {
      for (const [place, version] of versions.entries()) {
        const { origin, actor, message, record } = version;
        const number = numbers[place] ?? last;
        const text = JSON.stringify(record(number));
        store.history.add({ version: number, at, node, origin, actor, message, changes: text });
      }
      store.version = last;
      if (mark !== store.mark) store.mark = mark;
    });
    this.#version = placeOf(this.#version.epoch, last, mark);
  }

  /** A reload among several nodes: the version stays. */
  #keepFiles(versions: readonly PlannedVersion[]): void {
    const reloads = versions.filter((version) => isChange(version) && isReload(version));
    if (reloads.length > 0) this.#write(reloads, () => void reloads.map(({ record }) => record(this.version)));
  }

  #write(versions: readonly PlannedVersion[], work: () => void): void {
    const { store, log } = this.options;
    try {
      if (!versions.every(isReload)) store.keep();
      store.transaction(work);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const keeps = versions.some((version) => version.keeps);
      log.write(keeps ? 'error' : 'warn', keeps ? `cannot store a change: ${reason}` : `cannot add the reload to the history: ${reason}`);
      if (keeps) throw storeApiError(error);
    }
  }

  #tell({ origin, actor, message, before, after, operations }: PlannedVersion, version: number, node: string): void {
    const { registry } = this.options.instance.modules;
    if (operations.length > 0) this.options.onCommitted?.({ version, node, origin, actor, message, before, after, operations, registry });
  }
}

const placeOf = (epoch: number, number: number, mark: number): LogVersion => ({ epoch, number, ...(mark !== 0 && { mark }) });
const isChange = ({ operations, keeps }: PlannedVersion): boolean => operations.length > 0 || keeps;
const isReload = ({ origin }: PlannedVersion): boolean => origin === RELOAD;
