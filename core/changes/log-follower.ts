import { ApiError } from '../contract/control.js';
import {
  EntryNotKept,
  LogAway,
  LogUnavailable,
  LogConflict,
  type CommitLog,
  type LogEntry,
  type LogVersion,
  type Snapshot,
} from './commit-log.js';

/** How often a change is tried again on top of entries of other nodes. */
const MOST_CONFLICTS = 16;
/** An entry that cannot be applied is tried again after this time, which doubles up to the longest. Milliseconds. */
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;

/** Where a node is in the order of changes. */
export interface NodeStatus {
  /** `behind`: the log cannot be read. `diverged`: the node cannot apply an entry, and stays at the version before it. */
  readonly state: 'in_sync' | 'behind' | 'diverged';
  /** The last version that it has applied. */
  readonly version: LogVersion;
  /** Number of the entry that cannot be applied. */
  readonly entry?: number;
  readonly reason?: string;
}

export interface LogFollowerOptions<Content, State> {
  readonly log: CommitLog<Content, State>;
  readonly applied: () => LogVersion;
  /** @throws any error: nothing has changed, and the entry is not applied */
  readonly apply: (entry: LogEntry<Content>) => Promise<void>;
  /** @throws any error: nothing has changed */
  readonly restore: (snapshot: Snapshot<State>) => Promise<void>;
  readonly state: () => State;
  /**
   * Called in turn when everything in the log is applied. False: there is more. @throws any error: as if the log could not be read
   */
  readonly caughtUp?: () => Promise<boolean>;
  /** Runs work when no change is under way; rejects when there are no more turns. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
  /** Called with each change of the state, and with each other entry that the node stops at. */
  readonly changed: (status: NodeStatus) => void;
}

/**
 * Keeps a node in the order of a log: applies the entries of other nodes, and lets changes of this one follow them.
 *
 * A node stops at an entry that it cannot apply, since the entries after it were made on top of it. It serves on as it is, rejects changes, and tries
 * again: after a while, with the next entry, and when it is asked to.
 */
export class LogFollower<Content, State> {
  #stopped: Omit<NodeStatus, 'version'> = { state: 'in_sync' };
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #isNoticed = false;
  /** A log that has nothing may begin with the state of this node, although it has stopped. */
  #mayBegin = false;
  #end: () => void = () => undefined;

  constructor(private readonly options: LogFollowerOptions<Content, State>) {}

  get status(): NodeStatus {
    return { ...this.#stopped, version: this.options.applied() };
  }

  /** Applies what is in the log, and follows it from now on. Never rejects: a node that cannot follow says so in its status. */
  async start(): Promise<void> {
    const { log, applied, state } = this.options;
    this.#end = log.follow({
      appended: () => this.notice(),
      snapshot: () => (this.#stopped.state !== 'diverged' || this.#mayBegin ? { version: applied(), state: state() } : undefined),
    });
    await this.#inTurn();
  }

  stop(): void {
    this.#end();
    clearTimeout(this.#retry);
  }

  /** There may be something new to apply, or to apply now. */
  notice(): void {
    if (this.#isNoticed) return;
    this.#isNoticed = true;
    void this.#inTurn();
  }

  /**
   * Makes a change that appends to the log. On a conflict the entries of the other nodes are applied, and it is made again. So it is once when this
   * node rejects it: its caller may know entries of other nodes that have not come here yet.
   * @param change is in turn, and checks again what it depends on
   * @throws LogConflict after too many; ApiError 503 `NodeDiverged` when an entry of another node cannot be applied; what the change throws
   */
  async inOrder<T>(change: () => Promise<T>): Promise<T> {
    if (this.#stopped.state !== 'in_sync') await this.#catchUp();
    let isCurrent = !this.options.log.isShared;
    for (let conflicts = 1; ; conflicts++) {
      try {
        return await change();
      } catch (error) {
        if (error instanceof EntryNotKept) this.notice();
        if (error instanceof LogConflict && conflicts <= MOST_CONFLICTS) await this.#catchUp();
        else if (isCurrent || !mayBeOutdated(error) || !(await this.#hasMore())) throw error;
        isCurrent = true;
      }
    }
  }

  /** Applies what other nodes have appended. False: there was nothing, or it cannot be read. */
  async #hasMore(): Promise<boolean> {
    const { epoch, number } = this.options.applied();
    this.options.log.refresh();
    await this.#catchUp().catch(() => undefined);
    const now = this.options.applied();
    return now.epoch !== epoch || now.number !== number;
  }

  /**
   * Takes over a snapshot of the other nodes, if there is one, and goes on from there. A log that has nothing begins with the state of this node.
   * @throws ApiError 503 as {@link inOrder}
   */
  resync(): Promise<void> {
    return this.options.inTurn(async () => {
      const snapshot = await this.options.log.snapshot();
      if (snapshot !== undefined) await this.#applyOrStop(snapshot.version.number, () => this.options.restore(snapshot));
      this.#mayBegin = true;
      await this.#catchUp().finally(() => (this.#mayBegin = false));
    });
  }

  #inTurn(): Promise<void> {
    const { inTurn } = this.options;
    const work = (): Promise<void> => {
      this.#isNoticed = false;
      return this.#catchUp();
    };
    // The status has the reason; without a turn the node ends.
    return inTurn(work).catch(() => undefined);
  }

  async #catchUp(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      for (let conflicts = 0; !(await this.#isCaughtUp()); conflicts++) if (conflicts >= MOST_CONFLICTS) throw new LogConflict();
    } catch (error) {
      // Why a log is out of reach may differ with each attempt. Another reason needs an operator.
      if (!isDiverged(error)) this.#become({ state: 'behind', reason: reasonOf(error) }, !(error instanceof LogAway));
      this.#retryLater();
      throw error;
    }
    this.#failures = 0;
    this.#become({ state: 'in_sync' });
  }

  async #isCaughtUp(): Promise<boolean> {
    while (await this.#applyMore());
    return (await this.options.caughtUp?.()) ?? true;
  }

  /** False: nothing is left. */
  async #applyMore(): Promise<boolean> {
    const { log, applied } = this.options;
    const entries = await log.entries(applied());
    if (entries === undefined) return this.#restore();
    for (const entry of entries) await this.#applyOrStop(entry.number, () => this.options.apply(entry));
    return entries.length > 0;
  }

  async #restore(): Promise<true> {
    const { log, applied, restore } = this.options;
    const [snapshot, { epoch, number, mark }] = [await log.snapshot(), applied()];
    const isOther = (version: LogVersion): boolean =>
      version.epoch !== epoch || version.number > number || (version.mark ?? 0) !== (mark ?? 0);
    const { entry = number + 1 } = this.#stopped;
    await this.#applyOrStop(snapshot?.version.number ?? entry, async () => {
      if (snapshot === undefined) throw new Error(noneBegins(entry));
      if (!isOther(snapshot.version)) throw new Error('the log has neither the entry nor a snapshot after it');
      await restore(snapshot);
    });
    return true;
  }

  /** @param entry its number */
  async #applyOrStop(entry: number, apply: () => Promise<void>): Promise<void> {
    try {
      await apply();
    } catch (error) {
      const reason = reasonOf(error);
      this.#become({ state: 'diverged', entry, reason }, true);
      throw diverged(entry, reason);
    }
  }

  /** @param hasReason another reason is news as well */
  #become(next: Omit<NodeStatus, 'version'>, hasReason = false): void {
    const { state, entry, reason } = this.#stopped;
    this.#stopped = next;
    const isNews = next.state !== state || next.entry !== entry || (hasReason && next.reason !== reason);
    if (isNews) this.options.changed(this.status);
  }

  #retryLater(): void {
    const ms = Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** this.#failures++);
    this.#retry = setTimeout(() => this.notice(), ms).unref();
  }
}

function diverged(entry: number, reason: string): ApiError {
  const text = `this node cannot apply version ${entry} of another node, and makes no changes until it can: ${reason}`;
  return new ApiError(503, 'NodeDiverged', text);
}

const noneBegins = (entry: number): string =>
  `the changes of the nodes are not in Redis any more, and this node lacks version ${entry}: start a node that has it, or begin with what this one has: srvctl cluster resync`;

/** True if something is not as the caller expects, who may know entries of other nodes that have not come here. */
export const mayBeOutdated = (error: unknown): boolean => error instanceof ApiError && [404, 409, 412].includes(error.status);

const isDiverged = (error: unknown): boolean => error instanceof ApiError && error.code === 'NodeDiverged';

function reasonOf(error: unknown): string {
  if (error instanceof LogUnavailable) return error.reason;
  return error instanceof Error ? error.message : String(error);
}
