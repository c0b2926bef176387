import { MasterKeyValue } from '../../core/changes/key-value.js';
import type { PairEntry } from '../../core/changes/pair-entry.js';
import type { ChangeContent } from '../../core/changes/change-content.js';
import type { PairData } from '../../core/changes/key-value-copy.js';
import type { NodeStatus } from '../../core/changes/log-follower.js';
import { Staging } from '../../core/changes/staging.js';
import type { StoreState } from '../../core/changes/store-state.js';
import type { SpecRegistry } from '../../core/config/registry.js';
import { exactTree } from '../../core/contract/print.js';
import { startMaster, type FakeMaster } from './fake-master.js';
import { NodeLog, SharedLog } from './shared-log.js';

/** Logs of several nodes: the order of their configuration, and that of their pairs. */
export class SharedLogs {
  readonly configuration = new SharedLog<ChangeContent, StoreState>();
  readonly pairs = new SharedLog<PairEntry, readonly PairData[]>();

  trim(): void {
    this.configuration.trim();
    this.pairs.trim();
  }
}

export interface LogNodeOptions {
  readonly name: string;
  readonly config: string;
  /** Data folder. */
  readonly folder: string;
  /** See {@link NodeLog}. */
  readonly delay?: () => number;
  /** The directives that it knows; absent: all. */
  readonly specs?: SpecRegistry;
}

/** One of several nodes in this process: transactions, history and pairs of its own, in a folder of its own. */
export class LogNode {
  private constructor(
    readonly name: string,
    private readonly logs: SharedLogs,
    readonly master: FakeMaster,
    readonly pairs: MasterKeyValue,
    private readonly ways: readonly { connect(isConnected: boolean): void }[],
    /** States that its configuration has been in. */
    readonly statuses: readonly NodeStatus[],
  ) {}

  /** Resolves when it has what is in the logs. */
  static async start(logs: SharedLogs, { name, delay, ...options }: LogNodeOptions): Promise<LogNode> {
    const configuration = new NodeLog(logs.configuration, delay);
    const pairLog = new NodeLog(logs.pairs, delay);
    const statuses: NodeStatus[] = [];
    const onNode = (status: NodeStatus): void => void statuses.push(status);
    const master = await startMaster({ ...options, name, commitLog: configuration, onNode });
    const { store, log, workers } = master;
    const common = { store, log, participants: () => workers, heapSize: () => Infinity, staging: new Staging() };
    const pairs = new MasterKeyValue({ ...common, nodeName: () => name, commitLog: pairLog });
    const node = new LogNode(name, logs, master, pairs, [configuration, pairLog], statuses);
    await Promise.all([master.transactions.follow(), pairs.follow()]);
    return node;
  }

  connect(isConnected: boolean): void {
    for (const way of this.ways) way.connect(isConnected);
  }

  /** It has applied what is in the logs. */
  get isUpToDate(): boolean {
    const { configuration, pairs } = this.logs;
    const [own, ownPairs] = [this.master.transactions.node, this.pairs.node];
    const isInSync = own.state === 'in_sync' && ownPairs.state === 'in_sync';
    return (
      isInSync &&
      own.version.epoch === configuration.epoch &&
      own.version.number === configuration.last &&
      ownPairs.version.number === pairs.last
    );
  }

  /** All that nodes have to have in common, as JSON. */
  get state(): string {
    const { store, instance, printed } = this.master;
    const treeKeys = instance.tree.toData().map(keysIn);
    // Pairs are on disk a second later at most; a listing writes them at once.
    this.pairs.list({ limit: 1 });
    const pairs = [...store.pairs.all()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const versions = [store.epoch, store.version, store.pairEpoch, store.pairVersion];
    const history = store.history.last(1000).map(({ version, node, at, origin, actor }) => [version, node, at, origin, actor]);
    const lines = store.stateLines.all().map(({ block, key, text, place }) => [block, key, text, place]);
    const nextKeys = store.keys.nextTable.rows();
    return JSON.stringify({ printed: printed(), treeKeys, pairs, versions, history, nextKeys, lines }, undefined, 1);
  }

  /** True if a start would have the current configuration, and all workers have it. */
  get isWhole(): boolean {
    const { workers, printed, restarted } = this.master;
    const current = printed();
    return restarted() === current && workers.every(({ tree }) => exactTree(tree.root) === current);
  }

  async end(): Promise<void> {
    this.pairs.close();
    await this.master.end();
  }
}

interface Keyed {
  readonly key?: number;
  readonly block?: readonly Keyed[];
}

const keysIn = ({ key, block }: Keyed): unknown => [key, block?.map(keysIn)];
