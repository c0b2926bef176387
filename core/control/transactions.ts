/**
 * The one way the configuration changes. Transactions run one after another, each in these steps:
 *
 *     parse → validate and compile in the master → prepare in every worker → journal → commit everywhere → respond
 *
 * The journal is the commit point, and it comes after every worker is ready. A process that is killed
 * - before it has changed nothing: workers die with the master, and what they had prepared was never in force;
 * - after it keeps the change whole: the next start applies the journal, whether the caller got its response or not.
 * Nothing after the journal can fail: preparing has opened and compiled everything, committing only puts it in force. A worker that dies is
 * not waited for, its replacement starts from the tree then in force; one that is too busy to commit in time makes the response a 503 that says
 * so, and commits when it comes to it.
 *
 * The cost of a transaction grows with the change: no step looks at what the change leaves alone.
 */
import { ErrorCollector } from '../config/error-collector.js';
import { describeChange } from '../config/describe-change.js';
import { diffTrees } from '../config/diff.js';
import type { ConfigTree, TreeOperation } from '../config/tree.js';
import { assertPreconditions, moreTime, type ActionContext, type AppliedChange } from '../module/control.js';
import { Transactions, type Applied, type Edit } from '../module/services.js';
import type { Block, Directive, NewDirective } from '../module/tree.js';
import { Addresses } from './address.js';
import { appliedChange } from './applied-change.js';
import { asApiError, storeApiError } from './api-errors.js';
import { failuresByCall } from './call-failures.js';
import { contentVersion } from './content-version.js';
import { assertInTime, timeFor, type ChangeTime } from './change-time.js';
import { effectiveTree, type Effective } from './effective-tree.js';
import { EarlierText } from './earlier-text.js';
import { resolveEdit, type ResolvedEdit } from './edits.js';
import { assertHeapRoom } from './heap-room.js';
import { Journal } from './journal.js';
import type { AddressChange } from './journal-entry.js';
import { NewKeys } from './new-keys.js';
import { editedDirective, placeInCall, toDirectives } from './parse-directive.js';
import type { Saved } from '../module/history.js';
import { rollbackEdits, type RollbackSurroundings } from './rollback.js';
import { unavailable } from './rpc-messages.js';
import { asSaveError, planSave, writePlan } from './save-configuration.js';
import { forgetJournal } from './saved-keys.js';
import { isFull } from './sqlite.js';
import { StagedChange } from './staged-change.js';
import { hasFailed, PER_CALL, SharedDeadline, stageCalls, type StagedCall, type Together } from './staged-calls.js';
import { assertAlone } from './staging.js';
import { StateFileWriter } from './state-file-writer.js';
import type { LoadedConfiguration, ModuleSpecs, TransactionLimits, TransactionOptions } from './transaction-options.js';
import { WorkerRound } from './worker-round.js';

/** The control plane waits for 2 s: what cannot be had in time is refused before. */
const LIMITS: TransactionLimits = { api: 1500, reload: 60_000 };
/** Who brings another file into force. */
const RELOAD = 'reload';

/** What a caller wants changed. */
interface Wanted {
  /** How many edits it takes: long lists get more time. */
  readonly size: number;
  /** Whether edits may be about what others of them bring. */
  readonly isChain: boolean;
  readonly resolve: () => readonly ResolvedEdit[];
}

/** What a change is resolved in. */
type Surroundings = RollbackSurroundings;
type Build = (around: Surroundings) => Wanted;

/** A change on its way. */
interface Plan {
  readonly operations: readonly TreeOperation[];
  readonly after: ConfigTree;
  readonly diff: readonly string[];
  /** Request id of the call, or `reload`. */
  readonly origin: string;
  /** Who has made the call; empty: the server itself. */
  readonly actor: string;
  readonly time: ChangeTime;
  readonly dryRun: boolean;
  /** It has to be on disk before it is in force. The rest of a reload is read from its files by the next start as well. */
  readonly keeps: boolean;
  /** Writes it down, inside a store transaction; returns what goes into the history. */
  readonly record: (version: number) => unknown;
  /** What follows in the master once it is in force there. */
  readonly followUp: () => void;
}

export class TransactionQueue extends Transactions {
  readonly #journal: Journal;
  readonly #stateFiles: StateFileWriter;
  readonly #limits: TransactionLimits;
  readonly #versions = new WeakMap<Directive, string>();
  /** Addresses in the tree in force. */
  #places: { readonly tree: ConfigTree; readonly addresses: Addresses } | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #version: number;
  #tx = 0;
  /** Changes, which texts are numbered by. */
  #transactions = 0;
  #closed = false;

  constructor(private readonly options: TransactionOptions) {
    super();
    const { store, log, instance } = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#journal = new Journal(store);
    this.#version = store.version;
    const current = () => ({ tree: instance.tree, version: this.#version, ...pick(instance.modules) });
    this.#stateFiles = new StateFileWriter({ store, log, journal: this.#journal, current });
  }

  get tree(): Block {
    const { staging, instance } = this.options;
    return (staging.current?.tree ?? instance.tree).root;
  }

  get version(): number {
    return this.#version;
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
    // What stands in an addition was added with it.
    return (staged?.tree ?? instance.tree).pathOf(directive.id).some(wasAdded);
  }

  /** Once the tree of the start is in force: keeps what was found out when it was made. */
  started(effective: Effective): void {
    const { store } = this.options;
    const version = ++this.#version;
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
    const wanted = (around: Surroundings): Wanted => {
      const call = (): readonly Edit[] => build(around.tree.root);
      const { instance } = this.options;
      const edits = instance.limited === undefined ? call() : instance.limited(call);
      return { size: edits.length, isChain: false, resolve: () => resolveAll(edits, (edit) => resolveEdit(edit, around)) };
    };
    return this.#change(wanted, context);
  }

  /**
   * Takes changes of earlier transactions back.
   * @param changes gives them when it has its turn, the newest first; what it throws is thrown on
   */
  rollback(changes: () => Iterable<AddressChange>, context: Partial<ActionContext>): Promise<Applied> {
    const wanted = (around: Surroundings): Wanted => {
      const all = [...changes()];
      return { size: all.length, isChain: true, resolve: () => rollbackEdits(all, around) };
    };
    return this.#change(wanted, context);
  }

  /**
   * Carries out several calls as one change: all or none. Each sees what those before it made.
   * @throws ApiError 412 when the version of the configuration is not the one of `context`, and what concerns no single call
   */
  together(calls: readonly StagedCall[], context: ActionContext): Promise<Together> {
    assertAlone(this.options.staging);
    return this.#inTurn(() => this.#together(calls, context));
  }

  /**
   * Puts another file in force, with the journal on top of it.
   * @param load reads and checks it; what it throws is thrown on
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
    const followUp = (): void => {
      this.#journal.reread();
      this.#report(effective);
      this.#stateFiles.catchUp(effective.stateFiles);
    };
    const time = { limit: this.#limits.reload, deadline: Infinity };
    const keeps = effective.hasChanges;
    const applied = await this.#carryOut({
      operations,
      after,
      diff,
      origin: RELOAD,
      actor: '',
      time,
      dryRun: false,
      keeps,
      record,
      followUp,
    });
    return { ...applied, directives: [] };
  }

  /**
   * Writes what the API changed into the configuration files: the journal is empty then.
   * @throws ApiError 409 `FileEdited`, `FileNotWritable`, `SaveImpossible`; 412, 507
   */
  async save(context: ActionContext): Promise<Saved> {
    assertAlone(this.options.staging);
    return this.#inTurn(async () => {
      assertPreconditions(context, () => String(this.#version));
      const { instance, files, store, ids, log, folders = [] } = this.options;
      const { tree } = instance;
      const modules = pick(instance.modules);
      const plan = planSave({ files, tree, modules, store, ids, folders });
      await this.#assertUsable(plan.tree);
      if (context.dryRun) return { version: this.#version, files: [], diff: plan.diff };
      const saved = await writePlan(plan, folders);
      try {
        store.transaction(() => forgetJournal(store, tree, modules));
      } catch (error) {
        throw storeApiError(error);
      }
      this.#journal.reread();
      this.#places = undefined;
      if (saved.length > 0) log.write('notice', `API changes saved into ${saved.map(({ file }) => `"${file}"`).join(', ')}`);
      return { version: this.#version, files: saved, diff: [] };
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

  /** Waits for the transaction under way and writes the state files; later transactions are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
    await this.#stateFiles.settle();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => {
      if (this.#closed) throw unavailable('is shutting down');
      return work();
    });
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** Part of the transaction that the caller takes part in, or one of its own. */
  #change(build: Build, context: Partial<ActionContext>): Promise<Applied> {
    const staged = this.options.staging.current;
    if (staged !== undefined) return this.#stage(staged, build, context).then(({ directives }) => this.#staged(directives));
    return this.#inTurn(() => this.#alone(build, context));
  }

  async #alone(build: Build, context: Partial<ActionContext>): Promise<Applied> {
    const change = this.#begin(false);
    const { time, directives } = await this.#stage(change, build, context);
    try {
      return { ...(await this.#bringIntoForce(change, time, context)), directives };
    } catch (error) {
      const { folders, instance } = this.options;
      const { placeOf } = new EarlierText(this.#transactions, change.tree, instance.modules.registry);
      throw asApiError(error, folders, placeOf);
    }
  }

  async #together(calls: readonly StagedCall[], context: ActionContext): Promise<Together> {
    assertInTime(context.deadline ?? Infinity);
    assertPreconditions(context, () => String(this.#version));
    const change = this.#begin(true);
    const clock = new SharedDeadline(await moreTime(context, calls.length * PER_CALL));
    const outcomes = await stageCalls(calls, change, clock, (call) => this.options.staging.run(change, call));
    change.isOpen = false;
    if (outcomes.some(hasFailed)) return { version: this.#version, outcomes, diff: [] };
    const time = { limit: this.#limits.api + change.extraTime, deadline: clock.deadline };
    try {
      return { ...(await this.#bringIntoForce(change, time, context)), outcomes };
    } catch (error) {
      const { folders, instance } = this.options;
      const { registry } = instance.modules;
      const isPossible = (part: ReturnType<StagedChange['upTo']>): Promise<boolean> => this.#isPossible(part);
      const failures = await failuresByCall(error, { change, number: this.#transactions, registry, folders, isPossible });
      return { version: this.#version, outcomes: outcomes.map((outcome, call) => failures.get(call) ?? outcome), diff: [] };
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

  #begin(isJoint: boolean): StagedChange {
    const { instance, store } = this.options;
    const { removed, added } = this.#journal;
    const { registry } = instance.modules;
    return new StagedChange({
      base: instance.tree,
      registry,
      removed,
      added,
      keys: new NewKeys(store.keys),
      number: ++this.#transactions,
      isJoint,
    });
  }

  /** What a call does, added to the change: nobody else sees it. */
  async #stage(change: StagedChange, build: Build, context: Partial<ActionContext>) {
    try {
      assertInTime(context.deadline ?? Infinity);
      const { instance, ids } = this.options;
      const { tree, keys, removed, file } = change;
      const { registry } = instance.modules;
      const addresses = new Addresses(tree, registry, removed);
      const { size, isChain, resolve } = build({ tree, registry, ids, addresses, removed, file, nextKey: (block) => keys.next(block) });
      const time = await timeFor(size, this.#limits.api, context);
      const edits = resolve();
      const after = change.take(edits, isChain);
      change.extraTime += time.limit - this.#limits.api;
      return { time, directives: edits.map(({ id }) => (after.byId(id) ?? tree.byId(id)) as Directive) };
    } catch (error) {
      throw asApiError(error, this.options.folders);
    }
  }

  /** To the caller it is as if the change were in force. */
  #staged(directives: readonly Directive[]): Applied {
    return { version: this.#version + 1, diff: [], directives };
  }

  async #bringIntoForce(change: StagedChange, time: ChangeTime, context: Partial<ActionContext>): Promise<Omit<Applied, 'directives'>> {
    const { dryRun = false, requestId: origin = '', actor = '' } = context;
    let made: AppliedChange | undefined;
    const { base, keys, steps } = change;
    const { registry, args } = pick(this.options.instance.modules);
    const { after, operations } = change.upTo(change.call);
    const diff = dryRun ? describeChange(base, after, operations, registry) : [];
    const record = (version: number): unknown => {
      keys.save();
      const changes = steps.flatMap((step) => this.#journal.record({ ...step, registry, args }, version));
      made = appliedChange(version, changes, registry);
      return changes;
    };
    const followUp = (): void => {
      for (const { edits, before } of steps) this.#touch(edits, before);
      for (const follow of change.followUps) follow();
      if (made !== undefined) context.applied?.(made);
    };
    const keeps = steps.some(({ edits }) => edits.some((edit) => edit.operations.length > 0));
    return this.#carryOut({ operations, after, diff, origin, actor, time, dryRun, keeps, record, followUp });
  }

  async #carryOut(plan: Plan): Promise<Omit<Applied, 'directives'>> {
    const { after, diff, operations, dryRun, time } = plan;
    assertHeapRoom(this.options.instance.tree, after, operations, this.options.heapSize());
    // A reload reads what directives name again, also where the tree stays as it is: a certificate may have been renewed.
    const rereads = plan.origin === RELOAD;
    const prepared = await this.options.instance.prepare(operations, { rereads, after });
    if (dryRun) {
      prepared.abort();
      return { version: this.#version, diff };
    }
    const round = new WorkerRound(
      ++this.#tx,
      operations.length === 0 && !rereads ? [] : [...this.options.participants()],
      this.options.log,
    );
    try {
      await round.prepare(operations, Math.min(time.limit, time.deadline - Date.now()), rereads, prepared.files);
      assertInTime(time.deadline);
      this.#write(plan);
    } catch (error) {
      round.abort();
      prepared.abort();
      throw error;
    }
    const before = this.options.instance.tree;
    prepared.commit();
    plan.followUp();
    const { registry } = this.options.instance.modules;
    if (operations.length > 0)
      this.options.onCommitted?.({ version: this.#version, origin: plan.origin, actor: plan.actor, before, after, operations, registry });
    await round.commit(time.limit);
    return { version: this.#version, diff };
  }

  /** The commit point. */
  #write({ operations, origin, actor, keeps, record }: Plan): void {
    if (operations.length === 0 && !keeps) return;
    const { store, log } = this.options;
    const version = this.#version + 1;
    try {
      if (origin !== RELOAD) store.keep();
      store.transaction(() => {
        const changes = JSON.stringify(record(version));
        store.version = version;
        store.history.add({ version, at: Date.now(), origin, actor, changes });
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.write(keeps ? 'error' : 'warn', keeps ? `cannot store a change: ${reason}` : `cannot add the reload to the history: ${reason}`);
      if (keeps) throw storeApiError(error);
    }
    this.#version = version;
  }

  #touch(edits: readonly ResolvedEdit[], before: ConfigTree): void {
    const { tree } = this.options.instance;
    const parents = new Set(edits.map(({ id }) => (tree.parentOf(id) ?? before.parentOf(id))?.id));
    for (const id of parents) if (id !== undefined) this.#stateFiles.touch(id);
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
