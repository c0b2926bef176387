import { diffTrees } from '../config/diff.js';
import { ConfigErrors } from '../config/errors.js';
import { ConfigTree } from '../config/tree.js';
import { noContent, type ChangeContent } from './change-content.js';
import type { LogEntry, Snapshot } from './commit-log.js';
import { RELOAD, type Committer, type Plan, type PlannedVersion } from './committer.js';
import { effectiveTree, type Effective } from './effective-tree.js';
import type { Stager } from './stager.js';
import { copyStore, putState, stateOf, type StoreState } from './store-state.js';
import { Store } from './store.js';
import { assertLoaded, usedModules } from './used-modules.js';
import type { TransactionOptions } from './transaction-options.js';

export interface LogEntriesOptions extends Pick<TransactionOptions, 'instance' | 'store' | 'ids' | 'files' | 'log'> {
  readonly stager: Stager;
  readonly committer: Committer;
  /** Milliseconds that workers may take. */
  readonly limit: number;
  /** Called when rows of the store were replaced. */
  readonly replaced: (effective: Effective) => void;
}

/** Applies changes of other nodes, when they have their turn. */
export class LogEntries {
  constructor(private readonly options: LogEntriesOptions) {}

  /** @throws the reason why this node cannot apply it: nothing has changed then */
  apply(entry: LogEntry<ChangeContent>): Promise<void> {
    const { stager, committer } = this.options;
    const planned = stager.stageContent(entry.content, committer.version);
    return this.#inForce(planned, (plan) => committer.follow(plan, entry));
  }

  /** Result of all entries so far. */
  state(): StoreState {
    const { store, instance } = this.options;
    return { ...stateOf(store), modules: usedModules(instance.tree.root, instance.modules.registry) };
  }

  /** Takes over the state of another node, on top of the files of this one as they are now. @throws as {@link apply} */
  async restore({ version, state }: Snapshot<StoreState>): Promise<void> {
    const { instance, store, ids, committer, replaced } = this.options;
    const { registry, args } = instance.modules;
    assertLoaded(state.modules ?? [], registry);
    const copy = Store.inMemory();
    try {
      copy.transaction(() => {
        copyStore(store, copy);
        putState(copy, state, version.number);
      });
      const effective = effectiveTree(this.#file(), copy, { registry, args, ids });
      const operations = diffTrees(instance.tree, effective.tree, registry);
      const after = instance.tree.apply(operations);
      const planned: PlannedVersion = {
        before: instance.tree,
        after,
        operations,
        origin: RELOAD,
        actor: '',
        message: `state of the other nodes at version ${version.number}`,
        keeps: true,
        record: () => undefined,
        content: () => noContent(RELOAD),
        followUp: () => replaced(effective),
      };
      const keep = (): void => {
        copy.transaction(() => effective.save(version.number));
        copyStore(copy, store);
      };
      await this.#inForce(planned, (plan) => committer.restore(plan, version, keep));
    } finally {
      copy.close();
    }
  }

  /** A worker that commits late follows by itself. */
  async #inForce(planned: PlannedVersion, carryOut: (plan: Plan) => Promise<void>): Promise<void> {
    const { committer, limit, log } = this.options;
    const { operations, after } = planned;
    const time = { limit, deadline: Infinity };
    const before = committer.logVersion;
    try {
      await carryOut({ operations, after, time, versions: [planned] });
    } catch (error) {
      if (committer.logVersion === before) throw error;
      log.write('warn', `version ${committer.version} of another node: ${(error as Error).message}`);
    }
  }

  #file(): ConfigTree {
    const { directives, errors } = this.options.files.read();
    if (errors.length > 0) throw new ConfigErrors(errors);
    return ConfigTree.fromData(directives);
  }
}
