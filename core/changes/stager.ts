import { ErrorCollector } from '../config/error-collector.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import type { ActionContext, AppliedChange } from '../contract/control.js';
import type { Directive } from '../contract/tree.js';
import { Addresses } from './address.js';
import { contentStep, editsOf, type ChangeContent } from './change-content.js';
import { assertFilesAllowed } from './api-files.js';
import { asApiError } from './api-errors.js';
import { appliedChange } from './applied-change.js';
import { assertInTime, timeFor, type ChangeTime } from './change-time.js';
import type { PlannedVersion } from './committer.js';
import type { ResolvedEdit } from './edits.js';
import type { Journal } from './journal.js';
import { NewKeys } from './new-keys.js';
import type { RollbackSurroundings } from './rollback.js';
import { StagedChange, type StagedStep } from './staged-change.js';
import type { TransactionOptions } from './transaction-options.js';

/** A requested change. */
export interface WantedChange {
  /** How many edits it takes: long lists get more time. */
  readonly size: number;
  /** True if edits may be about what others of them bring. */
  readonly isChain: boolean;
  readonly resolve: () => readonly ResolvedEdit[];
}

/** Says in its turn what is wanted. Called again if what it was tried with cannot take effect. */
export type Build = (around: RollbackSurroundings) => WantedChange;

/** Result of a call. */
export interface Staged {
  readonly size: number;
  readonly time: ChangeTime;
  readonly directives: readonly Directive[];
}

export interface StagerOptions extends Pick<TransactionOptions, 'instance' | 'store' | 'ids' | 'folders' | 'apiFolders'> {
  readonly journal: Journal;
  /** Milliseconds that a small change may take in the workers. */
  readonly limit: number;
  /** Called with the ids of blocks that something was changed in. */
  readonly touched: (id: number) => void;
}

/** The part of a change that is a version of its own. */
type Part = Pick<PlannedVersion, 'before' | 'after' | 'operations'> & { readonly steps: readonly StagedStep[] };

/** Puts changes together, without any effect. */
export class Stager {
  /** Changes so far, which texts are numbered by. */
  #changes = 0;

  constructor(private readonly options: StagerOptions) {}

  /** The number of the change that was begun last. */
  get number(): number {
    return this.#changes;
  }

  /** @param version of the current configuration @param isJoint of several calls */
  begin(version: number, isJoint: boolean): StagedChange {
    const { instance, store, journal } = this.options;
    const { removed, added } = journal;
    const { registry } = instance.modules;
    const keys = new NewKeys(store.keys);
    return new StagedChange({ base: instance.tree, version, registry, removed, added, keys, number: ++this.#changes, isJoint });
  }

  /** Adds the effect of a call to the change, which stays invisible to others. @throws the error that the call is rejected with */
  async stage(change: StagedChange, build: Build, context: Partial<ActionContext>): Promise<Staged> {
    try {
      assertInTime(context.deadline ?? Infinity);
      const { instance, ids, limit } = this.options;
      const { tree, keys, removed, file } = change;
      const { registry } = instance.modules;
      const addresses = new Addresses(tree, registry, removed);
      const { size, isChain, resolve } = build({
        tree,
        registry,
        ids,
        addresses,
        removed,
        file,
        nextKey: (block) => keys.next(block),
        assertFiles: (operations, before) => this.#assertFiles(operations, before),
      });
      const time = await timeFor(size, limit, context);
      const edits = resolve();
      const after = change.take(edits, isChain);
      change.extraTime += time.limit - limit;
      return { size, time, directives: edits.map(({ id }) => (after.byId(id) ?? tree.byId(id)) as Directive) };
    } catch (error) {
      throw asApiError(error, this.options.folders);
    }
  }

  /** @throws ConfigErrors */
  #assertFiles(operations: readonly TreeOperation[], tree: ConfigTree): void {
    const { instance, apiFolders } = this.options;
    if (apiFolders === undefined) return;
    const { registry, args } = instance.modules;
    const errors = new ErrorCollector();
    assertFilesAllowed(operations, tree, { registry, args, folders: apiFolders, errors });
    errors.throwIfAny();
  }

  /**
   * The change of another node, on top of the current configuration.
   * @param version of that
   * @throws Error when something that it is about is not in the tree
   */
  stageContent({ steps, keys, ...context }: ChangeContent, version: number): PlannedVersion {
    const change = this.begin(version, false);
    const { instance, ids } = this.options;
    const { registry } = instance.modules;
    change.keys.take(keys);
    for (const step of steps) change.take(editsOf(step, { tree: change.tree, registry, ids, file: change.file }), step.isChain);
    return this.whole(change, { ...context, requestId: context.origin });
  }

  /** All of a change as one version. */
  whole(change: StagedChange, context: Partial<ActionContext>): PlannedVersion {
    const { base: before, steps } = change;
    return this.#planned({ before, steps, ...change.upTo(change.call) }, change, context);
  }

  /** The last step of a change as a version of its own. */
  lastStep(change: StagedChange, context: Partial<ActionContext>): PlannedVersion {
    return this.#planned(change.lastStep(), change, context);
  }

  #planned(part: Part, { keys, followUps }: StagedChange, context: Partial<ActionContext>): PlannedVersion {
    const { requestId: origin = '', actor = '', message = '' } = context;
    const { registry, args } = this.options.instance.modules;
    const { steps, ...trees } = part;
    let made: AppliedChange | undefined;
    const record = (version: number): unknown => {
      keys.save();
      const noted = new Set<number>();
      const changes = steps.flatMap((step) => this.options.journal.record({ ...step, registry, args, noted }, version));
      made = appliedChange(version, changes, registry);
      return changes;
    };
    const followUp = (): void => {
      for (const { edits, before } of steps) this.#touch(edits, before);
      for (const follow of followUps.splice(0)) follow();
      if (made !== undefined) context.applied?.(made);
    };
    const content = (): ChangeContent => {
      const sent = steps.map((step) => contentStep(step, registry));
      return { origin, actor, message, steps: sent, keys: keys.given };
    };
    const keeps = steps.some(({ edits }) => edits.some((edit) => edit.operations.length > 0));
    return { ...trees, origin, actor, message, keeps, record, content, followUp };
  }

  #touch(edits: readonly ResolvedEdit[], before: ConfigTree): void {
    const { tree } = this.options.instance;
    const parents = new Set(edits.map(({ id }) => (tree.parentOf(id) ?? before.parentOf(id))?.id));
    for (const id of parents) if (id !== undefined) this.options.touched(id);
  }
}
