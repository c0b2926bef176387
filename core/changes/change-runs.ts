import { describeChange } from '../config/describe-change.js';
import { ApiError, type ActionContext } from '../contract/control.js';
import type { Applied } from '../contract/transactions.js';
import { asApiError } from './api-errors.js';
import type { WaitingChange } from './change-groups.js';
import { stepLimit } from './change-time.js';
import { LogConflict } from './commit-log.js';
import type { Committer, PlannedVersion } from './committer.js';
import { EarlierText } from './earlier-text.js';
import type { StagedChange } from './staged-change.js';
import { mayBeOutdated } from './log-follower.js';
import type { Build, Staged, Stager } from './stager.js';
import type { TransactionOptions } from './transaction-options.js';

/** Edits of one group. A larger change is made alone: no other one should wait for it. */
const MOST_EDITS = 256;

type Waiting = WaitingChange<Build>;
/** Result of a change as a part of its group. */
type Outcome = { readonly staged: Staged; readonly planned: PlannedVersion } | { readonly error: unknown };

export interface ChangeRunsOptions extends Pick<TransactionOptions, 'instance' | 'staging' | 'folders' | 'commitLog'> {
  readonly stager: Stager;
  readonly committer: Committer;
  /** Milliseconds that a small change may take in the workers. */
  readonly limit: number;
  /** See `LogFollower.inOrder`. */
  readonly inOrder: <T>(change: () => Promise<T>) => Promise<T>;
}

/** Carries changes of one call each out, when they have their turn. */
export class ChangeRuns {
  constructor(private readonly options: ChangeRunsOptions) {}

  /** @throws ApiError, or another error that the change is rejected with */
  alone(build: Build, context: Partial<ActionContext>): Promise<Applied> {
    return this.options.inOrder(() => this.#alone(build, context));
  }

  async #alone(build: Build, context: Partial<ActionContext>): Promise<Applied> {
    const { stager, committer, instance, folders } = this.options;
    const change = stager.begin(committer.version, false);
    const { time, directives } = await stager.stage(change, build, context);
    const planned = stager.whole(change, context);
    try {
      if (context.dryRun === true) return { ...(await this.tryOut(planned)), directives };
      const [version = 0] = await committer.carryOut({ ...planned, time, versions: [planned] });
      return { version, diff: [], directives };
    } catch (error) {
      const { placeOf } = new EarlierText(stager.number, change.tree, instance.modules.registry);
      throw asApiError(error, folders, placeOf);
    }
  }

  /** A dry run. @throws the error that a change would be rejected with */
  async tryOut({ before, after, operations }: PlannedVersion): Promise<Pick<Applied, 'version' | 'diff'>> {
    const { committer, instance } = this.options;
    await committer.check({ operations, after });
    return { version: committer.version, diff: describeChange(before, after, operations, instance.modules.registry) };
  }

  /**
   * Applies changes at once, each all or nothing for itself and with a version of its own. A change that cannot take effect does not delay
   * the others: the halves of such a group are tried on their own, down to a single change. Never rejects.
   */
  async together(group: readonly Waiting[]): Promise<void> {
    const [first, ...others] = group;
    if (first === undefined) return;
    if (others.length === 0) return this.alone(first.build, first.context).then(first.resolve, first.reject);
    const { committer, stager, inOrder, commitLog } = this.options;
    let before = committer.version;
    let outcomes: readonly Outcome[] = [];
    let members = group;
    try {
      const versions = await inOrder(async () => {
        before = committer.version;
        const change = stager.begin(before, true);
        outcomes = await this.#stage(change, group);
        members = group.slice(0, outcomes.length);
        return this.#commit(change, outcomes);
      });
      const outdated = commitLog.isShared ? members.filter((_, at) => isOutdated(outcomes[at])) : [];
      settle(members, outcomes, versions, outdated);
      // Once more, when the entries of other nodes are applied.
      for (const { build, context, resolve, reject } of outdated) await this.alone(build, context).then(resolve, reject);
    } catch (error) {
      if (committer.version !== before) settle(members, outcomes, error);
      // Nothing else can be tried; and a change that a worker died of, or hangs in, must not reach the next worker because of the other ones of its group.
      else if (error instanceof LogConflict || (error instanceof ApiError && error.status === 503))
        for (const { reject } of members) reject(error);
      else {
        const half = Math.ceil(members.length / 2);
        await this.together(members.slice(0, half));
        await this.together(members.slice(half));
      }
    }
    await this.together(group.slice(members.length));
  }

  /** Each sees what those before it made. @returns what became of the first ones: the others are for another group */
  async #stage(change: StagedChange, group: readonly Waiting[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let edits = 0;
    for (const member of group) {
      change.begin(outcomes.length);
      const outcome = await this.options.staging.run(change, () => this.#stageOne(change, member));
      if ('staged' in outcome) edits += outcome.staged.size;
      if (edits > MOST_EDITS && outcomes.length > 0) {
        change.undo();
        break;
      }
      outcomes.push(outcome);
    }
    change.isOpen = false;
    return outcomes;
  }

  async #stageOne(change: StagedChange, { build, context }: Waiting): Promise<Outcome> {
    const { stager } = this.options;
    try {
      const staged = await stager.stage(change, build, context);
      const planned = stager.lastStep(change, context);
      if (planned.keeps) change.version++;
      return { staged, planned };
    } catch (error) {
      change.undo();
      return { error };
    }
  }

  async #commit(change: StagedChange, outcomes: readonly Outcome[]): Promise<readonly number[]> {
    const possible = outcomes.filter((outcome) => 'staged' in outcome);
    if (possible.length === 0) return [];
    const deadline = Math.min(...possible.map(({ staged }) => staged.time.deadline));
    const time = { limit: stepLimit(this.options.limit, deadline) + change.extraTime, deadline };
    const versions = possible.map(({ planned }) => planned);
    return this.options.committer.carryOut({ ...change.upTo(change.call), time, versions });
  }
}

const isOutdated = (outcome: Outcome | undefined): boolean => outcome !== undefined && 'error' in outcome && mayBeOutdated(outcome.error);

/** Notifies the callers. @param result versions of the active changes, or why they are not active everywhere yet @param later members that are not notified yet */
function settle(members: readonly Waiting[], outcomes: readonly Outcome[], result: unknown, later: readonly Waiting[] = []): void {
  const versions = Array.isArray(result) ? (result as readonly number[]).values() : undefined;
  for (const [at, outcome] of outcomes.entries()) {
    const member = members[at];
    if (member !== undefined && later.includes(member)) continue;
    if ('error' in outcome) member?.reject(outcome.error);
    else if (versions === undefined) member?.reject(result);
    else member?.resolve({ version: versions.next().value ?? 0, diff: [], directives: outcome.staged.directives });
  }
}
