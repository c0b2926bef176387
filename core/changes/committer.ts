import type { ConfigTree, TreeOperation } from '../config/tree.js';
import { storeApiError } from './api-errors.js';
import { assertInTime, type ChangeTime } from './change-time.js';
import { assertHeapRoom } from './heap-room.js';
import type { TransactionOptions } from './transaction-options.js';
import type { ChangeInputs } from './participant.js';
import { WorkerRound } from './worker-round.js';

/** Who brings another file into force. */
export const RELOAD = 'reload';

/** A change as it goes into the history, under a version of its own. */
export interface PlannedVersion {
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly operations: readonly TreeOperation[];
  /** Request id of the call, or {@link RELOAD}. */
  readonly origin: string;
  /** Who has made the call; empty: the server itself. */
  readonly actor: string;
  /** Why, in the words of the caller; empty: nothing was said. */
  readonly message: string;
  /** It has to be on disk before it is active. The rest of a reload is read from its files by the next start as well. */
  readonly keeps: boolean;
  /** Writes it down, inside a store transaction; returns what goes into the history. */
  readonly record: (version: number) => unknown;
  /** What follows in the master once it is active there. */
  readonly followUp: () => void;
}

/** What takes effect at once. */
export interface Plan {
  /** What all versions come to. */
  readonly operations: readonly TreeOperation[];
  readonly after: ConfigTree;
  readonly time: ChangeTime;
  /** In their order. */
  readonly versions: readonly PlannedVersion[];
}

/** Applies changes: prepare in every thread, write down, commit everywhere. One after the other. */
export class Committer {
  #version: number;
  #tx = 0;

  constructor(private readonly options: TransactionOptions) {
    this.#version = options.store.version;
  }

  /** Of the current configuration. */
  get version(): number {
    return this.#version;
  }

  /** The version of a start. */
  begin(): number {
    return ++this.#version;
  }

  /** Finds out in the master whether a change is possible. @throws ConfigErrors, ApiError 507 */
  async check({ operations, after }: Pick<Plan, 'operations' | 'after'>): Promise<void> {
    this.#assertRoom({ operations, after });
    (await this.options.instance.prepare(operations, { rereads: false, after })).abort();
  }

  /**
   * @returns the version of the configuration after each of the planned ones, in force in every worker
   * @throws ConfigErrors, ApiError: nothing has changed; 503 from the last step, when a worker is late: all has
   */
  async carryOut(plan: Plan): Promise<readonly number[]> {
    const { after, operations, versions, time } = plan;
    const { instance, log } = this.options;
    this.#assertRoom(plan);
    // A reload reads what directives name again, also where the tree stays as it is: a certificate may have been renewed.
    const rereads = versions.some(({ origin }) => origin === RELOAD);
    const prepared = await instance.prepare(operations, { rereads, after, isChecked: rereads });
    const participants = operations.length === 0 && !rereads ? [] : [...this.options.participants()];
    const round = new WorkerRound(++this.#tx, participants, log);
    let numbers: readonly number[];
    try {
      const { files = new Map(), modules } = prepared;
      await this.#prepareWorkers(round, plan, { rereads, files, modules });
      numbers = this.#write(versions);
    } catch (error) {
      round.abort();
      prepared.abort();
      throw error;
    }
    prepared.commit();
    for (const { followUp } of versions) followUp();
    for (const [at, version] of versions.entries()) this.#tell(version, numbers[at] ?? 0);
    await round.commit(time.limit);
    return numbers;
  }

  async #prepareWorkers(round: WorkerRound, { operations, time }: Plan, inputs: ChangeInputs): Promise<void> {
    await round.prepare(operations, Math.min(time.limit, time.deadline - Date.now()), inputs);
    assertInTime(time.deadline);
  }

  #assertRoom({ operations, after }: Pick<Plan, 'operations' | 'after'>): void {
    assertHeapRoom(this.options.instance.tree, after, operations, this.options.heapSize());
  }

  /** The commit point. */
  #write(versions: readonly PlannedVersion[]): readonly number[] {
    let last = this.#version;
    const numbered = versions.map((version) => ({ version, number: isChange(version) ? ++last : last }));
    const changes = numbered.filter(({ version }) => isChange(version));
    const numbers = numbered.map(({ number }) => number);
    if (changes.length === 0) return numbers;
    const { store, log } = this.options;
    try {
      if (versions.some(({ origin }) => origin !== RELOAD)) store.keep();
      store.transaction(() => {
        for (const { version, number } of changes) {
          const { origin, actor, message } = version;
          const text = JSON.stringify(version.record(number));
          store.history.add({ version: number, at: Date.now(), origin, actor, message, changes: text });
        }
        store.version = last;
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const keeps = versions.some((version) => version.keeps);
      log.write(keeps ? 'error' : 'warn', keeps ? `cannot store a change: ${reason}` : `cannot add the reload to the history: ${reason}`);
      if (keeps) throw storeApiError(error);
    }
    this.#version = last;
    return numbers;
  }

  #tell({ origin, actor, message, before, after, operations }: PlannedVersion, version: number): void {
    const { registry } = this.options.instance.modules;
    if (operations.length > 0) this.options.onCommitted?.({ version, origin, actor, message, before, after, operations, registry });
  }
}

const isChange = ({ operations, keeps }: PlannedVersion): boolean => operations.length > 0 || keeps;
