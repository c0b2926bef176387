import type { ExecutionContext } from 'ava';
import { ChangeSequence } from '../../core/changes/change-sequence.js';
import { RedisLog } from '../../core/changes/redis-log.js';
import type { NodeStatus } from '../../core/changes/log-follower.js';
import type { SpecRegistry } from '../../core/config/registry.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import type { RedisSettings } from '../../modules/redis/redis-settings.js';
import { add, members, startMaster, type FakeMaster } from '../control/fake-master.js';
import { MemoryLog } from '../control/memory-log.js';
import { CONFIG } from '../control/node-operations.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { redisSettings } from './pairs-node.js';

export interface ChangesNodeOptions {
  readonly config?: string;
  readonly folder?: string;
  readonly secret?: string;
  readonly wait?: { readonly replicas: number; readonly timeout: number };
  readonly settings?: Partial<RedisSettings>;
  readonly specs?: SpecRegistry;
}

/** The configuration of one of several nodes in this process, with a connection to Redis and a folder of its own. */
export class ChangesNode {
  private constructor(
    readonly name: string,
    readonly folder: string,
    readonly master: FakeMaster,
    readonly log: MemoryLog,
    readonly changes: ChangeSequence,
    readonly connection: BlockConnection,
    readonly statuses: readonly NodeStatus[],
  ) {}

  /** Resolves when it has what is in Redis, or knows that Redis is away. */
  static async start(t: ExecutionContext, name: string, port: number, options: ChangesNodeOptions = {}): Promise<ChangesNode> {
    const { folder = tempFolder(t), config = CONFIG, secret, wait, settings, specs } = options;
    const connection = new BlockConnection('main');
    const log = new MemoryLog();
    const nodeName = (): string => name;
    const changes = new ChangeSequence({ changes: () => ({ connection, secret, wait }), nodeName, log });
    const commitLog = new RedisLog({ sequence: changes, nodeName, log });
    const statuses: NodeStatus[] = [];
    const onNode = (status: NodeStatus): void => void statuses.push(status);
    const master = await startMaster({ name, config, folder, commitLog, onNode, ...(specs && { specs }) });
    const node = new ChangesNode(name, folder, master, log, changes, connection, statuses);
    t.teardown(() => node.end());
    connection.open(redisSettings(port, settings), 'c');
    await master.transactions.follow();
    return node;
  }

  get status(): NodeStatus {
    return this.master.transactions.node;
  }

  /** Version, epoch and text of its configuration. */
  get state(): string {
    const { store, printed } = this.master;
    return JSON.stringify([store.version, store.epoch, store.mark, printed(), store.history.last(1000), store.keys.nextTable.rows()]);
  }

  add(member: string): Promise<unknown> {
    return this.master.transactions.apply(add(`server ${member};`));
  }

  get members(): string[] {
    return members(this.master);
  }

  inSync(): Promise<unknown> {
    return waitFor(`${this.name} in sync`, () => this.status.state === 'in_sync' && this.connection.status.state === 'ready');
  }

  async end(): Promise<void> {
    await this.master.end();
    this.connection.close('end');
  }
}

/** All nodes have the same configuration. */
export async function same(t: ExecutionContext, nodes: readonly ChangesNode[]): Promise<void> {
  await waitFor('the same state', () => nodes.every(({ state, status }) => state === nodes[0]?.state && status.state === 'in_sync'));
  // Workers commit after the master.
  for (const { master } of nodes) await master.transactions.between(() => Promise.resolve());
  t.true(nodes.every(({ master }) => master.restarted() === master.printed()));
}
