/**
 * The one way the configuration changes. Transactions run one after another, each in these steps:
 *
 *     parse → validate and compile in the master → prepare in every worker → commit log → commit everywhere → respond
 *
 * The commit log (`commit-log`) gives the order, and with it the journal is written. It is the commit point, and it comes after every worker is ready. A process that is killed
 * - before it has changed nothing: workers die with the master, and their preparations were never active;
 * - after it keeps the change whole: the next start applies the journal, whether the caller got its response or not. Nothing after the
 * it can fail: preparing has opened and compiled everything, committing only activates it. A worker that dies is not waited for, its
 * replacement starts from the tree then active; one that is too busy to commit in time makes the response a 503 that says so, and commits
 * when it comes to it.
 *
 * Changes that wait while another one is on its way take these steps together (`change-runs`): each is all or nothing for itself and has a
 * version of its own, but the workers are asked once, and the disk is written to once.
 *
 * The cost of a transaction grows with the change: no step looks at what the change leaves alone.
 */
import { ErrorCollector } from '../config/error-collector.js';
import { describeChange } from '../config/describe-change.js';
import { diffTrees } from '../config/diff.js';
import type { ConfigTree } from '../config/tree.js';
import { toDirectives } from '../config/tree-draft.js';
import { ApiError, assertPreconditions, moreTime, type ActionContext } from '../contract/control.js';
import { Transactions, type Applied, type Edit } from '../contract/transactions.js';
import type { Block, Directive, NewDirective } from '../contract/tree.js';
import { Addresses } from './address.js';
import { asApiError, storeApiError } from './api-errors.js';
import { failuresByCall } from './call-failures.js';
import { ChangeGroups } from './change-groups.js';
import { ChangeRuns } from './change-runs.js';
import { assertInTime, stepLimit } from './change-time.js';
import { noContent, type ChangeContent } from './change-content.js';
import { LogConflict, type LogVersion } from './commit-log.js';
import { Committer, RELOAD } from './committer.js';
import { contentVersion } from './content-version.js';
import { effectiveTree, type Effective } from './effective-tree.js';
import { resolveEdit, type ResolvedEdit } from './edits.js';
import { Journal } from './journal.js';
import { LogEntries } from './log-entries.js';
import { LogFollower, type NodeStatus } from './log-follower.js';
import type { AddressChange } from './journal-entry.js';
import { editedDirective, placeInCall } from './parse-directive.js';
import type { Saved } from '../contract/history.js';
import { rollbackEdits } from './rollback.js';
import { unavailable } from './unavailable.js';
import { asSaveError, planSave, writePlan } from './save-configuration.js';
import { forgetJournal } from './saved-keys.js';
import { isFull } from './sqlite.js';
import { StoreReleased } from './store-error.js';
import type { StoreState } from './store-state.js';
import type { StagedChange } from './staged-change.js';
import { hasFailed, PER_CALL, SharedDeadline, stageCalls, type StagedCall, type Together } from './staged-calls.js';
import { Stager, type Build, type Staged } from './stager.js';
import { assertAlone, rollbackNotFirst } from './staging.js';
import { StateFileWriter } from './state-file-writer.js';
import { untilDecided } from './waiting-caller.js';
import type { LoadedConfiguration, ModuleSpecs, TransactionLimits, TransactionOptions } from './transaction-options.js';

/** The control plane waits for 2 s: a change that takes longer is rejected before. */
const LIMITS: TransactionLimits = { api: 1500, reload: 60_000 };

export class TransactionQueue extends Transactions {
  readonly #journal: Journal;
  readonly #stateFiles: StateFileWriter;
  readonly #committer: Committer;
  readonly #stager: Stager;
  readonly #runs: ChangeRuns;
  readonly #groups: ChangeGroups<Build>;
  readonly #follower: LogFollower<ChangeContent, StoreState>;
  readonly #limits: TransactionLimits;
  readonly #versions = new WeakMap<Directive, string>();
  /** Addresses in the current tree. */
  #places: { readonly tree: ConfigTree; readonly addresses: Addresses } | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  /** Why changes are rejected from now on. */
  #closed: ApiError | undefined;

  constructor(private readonly options: TransactionOptions) {
    super();
    const { store, log, instance } = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#journal = new Journal(store);
    const { api: limit } = this.#limits;
    const journal = this.#journal;
    const committer = (this.#committer = new Committer(options));
    const current = () => ({ tree: instance.tree, version: committer.version, ...pick(instance.modules) });
    this.#stateFiles = new StateFileWriter({ store, log, journal, current });
    const stager = (this.#stager = new Stager({ ...options, journal, limit, touched: (id) => this.#stateFiles.touch(id) }));
    const replaced = (effective: Effective): void => this.#replaced(effective);
    const entries = new LogEntries({ ...options, stager, committer, limit: this.#limits.reload, replaced });
    const follower = (this.#follower = new LogFollower({
      log: options.commitLog,
      applied: () => committer.logVersion,
      apply: (entry) => entries.apply(entry),
      restore: (snapshot) => entries.restore(snapshot),
      state: () => entries.state(),
      inTurn: (work) => this.#inTurn(work),
      changed: (status) => options.onNode?.(status),
    }));
    const inOrder = <T>(change: () => Promise<T>): Promise<T> => follower.inOrder(change);
    const runs = (this.#runs = new ChangeRuns({ ...options, stager, committer, limit, inOrder }));
    this.#groups = new ChangeGroups(
      (turn) => this.#queued(turn),
      (group) => runs.together(group),
    );
  }

  get tree(): Block {
    const { staging, instance } = this.options;
    return (staging.current?.tree ?? instance.tree).root;
  }

  get version(): number {
    return this.options.staging.current?.version ?? this.#committer.version;
  }

  versionOf(directive: Directive): string {
    const version = this.#versions.get(directive) ?? contentVersion(directive);
    this.#versions.set(directive, version);
    return version;
  }

  read(directive: NewDirective): Directive {
    try {
      const { ids, staging } = this.options;
      const [read] = toDirectives([editedDirective(directive, ids, staging.current?.file)]);
      if (read === undefined) throw new Error('a directive was read to nothing');
      return read;
    } catch (error) {
      throw asApiError(error, this.options.folders);
    }
  }

  isAddition(directive: Directive): boolean {
    const { instance, staging } = this.options;
    if (this.#places?.tree !== instance.tree) {
      const addresses = new Addresses(instance.tree, instance.modules.registry, this.#journal.removed);
      this.#places = { tree: instance.tree, addresses };
    }
    const { addresses } = this.#places;
    const staged = staging.current;
    const wasAdded = ({ id, source }: Directive): boolean =>
      placeInCall(source) !== undefined && (staged?.isAdded(id) === true || this.#journal.added(addresses.of(id)));
    // The content of an addition was added with it.
    return (staged?.tree ?? instance.tree).pathOf(directive.id).some(wasAdded);
  }

  /** Once the tree of the start is active: keeps what was found out when it was made. */
  started(effective: Effective): void {
    const { store } = this.options;
    const version = this.#committer.begin();
    try {
      store.transaction(() => {
        effective.save(version);
        store.version = version;
      });
      this.#journal.reread();
    } catch (error) {
      // That there was a start is nothing to lose.
      if (effective.hasChanges || !isFull(error)) throw error;
    }
    this.#report(effective);
    this.#stateFiles.catchUp(effective.stateFiles);
  }

  apply(build: (tree: Block) => readonly Edit[], context: Partial<ActionContext> = {}): Promise<Applied> {
    const wanted: Build = (around) => {
      const call = (): readonly Edit[] => build(around.tree.root);
      const { instance } = this.options;
      const edits = instance.limited === undefined ? call() : instance.limited(call);
      return { size: edits.length, isChain: false, resolve: () => resolveAll(edits, (edit) => resolveEdit(edit, around)) };
    };
    return this.#change(wanted, context);
  }

  whenInForce(step: () => void): void {
    const { current } = this.options.staging;
    if (current === undefined) step();
    else current.followUps.push(step);
  }

  /**
   * Takes changes of earlier transactions back.
   * @param changes gives them when it has its turn, the newest first; its exceptions are thrown on
   * @throws ApiError 400 `NotTransactional` as a part of a transaction that has changed something before
   */
  rollback(changes: () => Iterable<AddressChange>, context: Partial<ActionContext>): Promise<Applied> {
    const { current } = this.options.staging;
    const wanted: Build = (around) => {
      if (current?.steps.some(({ edits }) => edits.length > 0)) throw rollbackNotFirst();
      const all = [...changes()];
      return { size: all.length, isChain: true, resolve: () => rollbackEdits(all, around) };
    };
    // The history has what is written down, not what waits for the disk.
    return this.#change(wanted, context, true);
  }

  /**
   * Carries out several calls as one change: all or none. Each sees what those before it made.
   * @throws ApiError 412 when the version of the configuration is not the one of `context`, and what concerns no single call
   */
  together(calls: readonly StagedCall[], context: ActionContext): Promise<Together> {
    assertAlone(this.options.staging);
    return this.#decided(context, (waiting) => this.#inTurn(() => this.#follower.inOrder(() => this.#together(calls, waiting))));
  }

  /**
   * Switches to another file, with the journal on top of it. @param load reads and checks it; its exceptions are thrown on
   * @throws ConfigErrors with every reason; nothing has changed then
   */
  reload(load: () => LoadedConfiguration | Promise<LoadedConfiguration>): Promise<Applied> {
    return this.#inTurn(async () => {
      await this.#stateFiles.settle();
      try {
        return await this.#reload(await load());
      } catch (error) {
        this.#stateFiles.catchUp();
        throw error;
      } finally {
        if (this.node.state !== 'in_sync') this.#follower.notice();
      }
    });
  }

  async #reload({ tree: file, modules }: LoadedConfiguration): Promise<Applied> {
    const { instance, store, ids } = this.options;
    const effective = effectiveTree(file, store, { ...pick(modules), ids });
    const operations = diffTrees(instance.tree, effective.tree, modules.registry);
    const after = instance.tree.apply(operations);
    const diff = describeChange(instance.tree, after, operations, modules.registry);
    const record = (version: number): unknown => (effective.save(version), diff);
    const followUp = (): void => this.#replaced(effective);
    const time = { limit: this.#limits.reload, deadline: Infinity };
    const planned = {
      before: instance.tree,
      after,
      operations,
      origin: RELOAD,
      actor: '',
      message: '',
      keeps: effective.hasChanges,
      record,
      content: () => noContent(RELOAD),
      followUp,
    };
    const [version = 0] = await this.#committer.carryOut({ operations, after, time, versions: [planned] });
    return { version, diff, directives: [] };
  }

  /**
   * Writes what the API changed into the configuration files: the journal is empty then.
   * @throws ApiError 409 `FileEdited`, `FileNotWritable`, `SaveImpossible`; 412, 507
   */
  async save(context: ActionContext): Promise<Saved> {
    const { staging, commitLog } = this.options;
    assertAlone(staging);
    if (commitLog.isShared)
      throw new ApiError(409, 'SaveImpossible', 'the changes belong to several nodes, each with files of its own; nothing was saved');
    return this.#inTurn(async () => {
      assertPreconditions(context, () => String(this.#committer.version));
      const { instance, files, store, ids, log, folders = [] } = this.options;
      const { tree } = instance;
      const modules = pick(instance.modules);
      const plan = planSave({ files, tree, modules, store, ids, folders });
      await this.#assertUsable(plan.tree);
      if (context.dryRun) return { version: this.#committer.version, files: [], diff: plan.diff };
      const saved = await writePlan(plan, folders);
      try {
        store.transaction(() => forgetJournal(store, tree, modules));
      } catch (error) {
        throw storeApiError(error);
      }
      this.#journal.reread();
      this.#places = undefined;
      if (saved.length > 0) log.write('notice', `API changes saved into ${saved.map(({ file }) => `"${file}"`).join(', ')}`);
      return { version: this.#committer.version, files: saved, diff: [] };
    });
  }

  /** @throws ApiError 409 when a server could not be started with a tree, with the files that it names as they are now */
  async #assertUsable(tree: ConfigTree): Promise<void> {
    const { instance, folders = [] } = this.options;
    const operations = diffTrees(instance.tree, tree, instance.modules.registry);
    try {
      (await instance.prepare(operations, { rereads: true, after: instance.tree.apply(operations) })).abort();
    } catch (error) {
      throw asSaveError(error, folders);
    }
  }

  /** Calls `step` when no transaction is under way, and begins none before it resolves: a worker that joins in it takes part in all that follow. */
  async between(step: () => Promise<unknown>): Promise<void> {
    await this.#inTurn(step);
  }

  /**
   * Lets another program have the store, when no transaction is under way and the state files are written. Changes wait meanwhile.
   * @param work resolves when the other program serves: later transactions are rejected. Rejects: this one goes on, with the store
   */
  handOver(work: () => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stateFiles.settle();
      try {
        await work();
        this.#closed = new StoreReleased();
      } catch (error) {
        this.#journal.reread();
        this.#stateFiles.catchUp();
        throw error;
      }
    });
  }

  /** Where this node is in the order of changes. */
  get node(): NodeStatus {
    return this.#follower.status;
  }

  /** The last version that was applied in all workers. */
  get inForce(): LogVersion {
    return this.#committer.inForce;
  }

  /** Takes over the state of the other nodes. @throws ApiError 503 */
  resync(): Promise<void> {
    return this.#follower.resync();
  }

  /** Applies what other nodes have changed, and follows them from now on. */
  follow(): Promise<void> {
    return this.#follower.start();
  }

  /** Applies no more changes of other nodes. */
  unfollow(): void {
    this.#follower.stop();
  }

  /** Waits for the transaction under way and writes the state files; later transactions are rejected. */
  async close(): Promise<void> {
    this.#follower.stop();
    this.#closed ??= unavailable('is shutting down');
    await this.#tail;
    await this.#stateFiles.settle();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#groups.close();
    return this.#queued(work);
  }

  #queued<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => {
      if (this.#closed !== undefined) throw this.#closed;
      return work();
    });
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Part of the transaction that the caller takes part in, or one of its own.
   * @param isAlone it is not gathered with other changes that wait
   */
  #change(build: Build, context: Partial<ActionContext>, isAlone = context.dryRun === true): Promise<Applied> {
    const staged = this.options.staging.current;
    if (staged !== undefined) return this.#stager.stage(staged, build, context).then((result) => this.#staged(result));
    return this.#decided(context, (waiting) =>
      isAlone ? this.#inTurn(() => this.#runs.alone(build, waiting)) : this.#groups.add(build, waiting),
    );
  }

  #decided<C extends Partial<ActionContext>, T>(context: C, work: (context: C) => Promise<T>): Promise<T> {
    return this.options.commitLog.isShared ? untilDecided(context, work) : work(context);
  }

  async #together(calls: readonly StagedCall[], context: ActionContext): Promise<Together> {
    assertInTime(context.deadline ?? Infinity);
    assertPreconditions(context, () => String(this.#committer.version));
    const change = this.#stager.begin(this.#committer.version, true);
    const clock = new SharedDeadline(await moreTime(context, calls.length * PER_CALL));
    const outcomes = await stageCalls(calls, change, clock, (call) => this.options.staging.run(change, call));
    change.isOpen = false;
    if (outcomes.some(hasFailed)) return { version: this.#committer.version, outcomes, diff: [] };
    const time = { limit: stepLimit(this.#limits.api, clock.deadline) + change.extraTime, deadline: clock.deadline };
    try {
      const planned = this.#stager.whole(change, context);
      if (context.dryRun) return { ...(await this.#runs.tryOut(planned)), outcomes };
      const [version = 0] = await this.#committer.carryOut({ ...planned, time, versions: [planned] });
      return { version, outcomes, diff: [] };
    } catch (error) {
      if (error instanceof LogConflict) throw error;
      const { folders, instance } = this.options;
      const { registry } = instance.modules;
      const isPossible = (part: ReturnType<StagedChange['upTo']>): Promise<boolean> => this.#isPossible(part);
      const failures = await failuresByCall(error, { change, number: this.#stager.number, registry, folders, isPossible });
      return { version: this.#committer.version, outcomes: outcomes.map((outcome, call) => failures.get(call) ?? outcome), diff: [] };
    }
  }

  async #isPossible({ operations, after }: ReturnType<StagedChange['upTo']>): Promise<boolean> {
    try {
      (await this.options.instance.prepare(operations, { after })).abort();
      return true;
    } catch {
      return false;
    }
  }

  /** To the caller it is as if the change were active. */
  #staged({ directives }: Staged): Applied {
    return { version: this.#committer.version + 1, diff: [], directives };
  }

  /** The journal has other rows. */
  #replaced(effective: Effective): void {
    this.#journal.reread();
    this.#report(effective);
    this.#stateFiles.catchUp(effective.stateFiles);
  }

  #report({ dropped, warnings }: Effective): void {
    const { log } = this.options;
    for (const line of dropped) log.write('warn', `dropped API change: its target is no longer in the configuration: ${line}`);
    for (const line of warnings) log.write('warn', line);
  }
}

const pick = ({ registry, args }: ModuleSpecs): ModuleSpecs => ({ registry, args });

/** All errors of all edits. */
function resolveAll(edits: readonly Edit[], resolve: (edit: Edit) => ResolvedEdit): ResolvedEdit[] {
  const errors = new ErrorCollector();
  const resolved = edits.flatMap((edit) => errors.attempt(() => resolve(edit)) ?? []);
  errors.throwIfAny();
  return resolved;
}
