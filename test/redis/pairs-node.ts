import type { ExecutionContext } from 'ava';
import { MasterKeyValue } from '../../core/changes/key-value.js';
import type { LostWrite } from '../../core/changes/local-pairs.js';
import type { NodeStatus } from '../../core/changes/log-follower.js';
import { RedisLog } from '../../core/changes/redis-log.js';
import { PairSequence } from '../../core/changes/pair-sequence.js';
import { Staging } from '../../core/changes/staging.js';
import { Store } from '../../core/changes/store.js';
import { StoreLog } from '../../core/changes/store-log.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import type { RedisSettings } from '../../modules/redis/redis-settings.js';
import { MemoryLog } from '../control/memory-log.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

export interface PairsNodeOptions {
  readonly folder?: string;
  readonly wait?: { readonly replicas: number; readonly timeout: number };
  readonly write?: 'strict' | 'local';
  readonly settings?: Partial<RedisSettings>;
}

export function redisSettings(port: number, more: Partial<RedisSettings> = {}): RedisSettings {
  return {
    addresses: [{ host: '127.0.0.1', port }],
    socket: undefined,
    sentinel: undefined,
    isCluster: false,
    database: 0,
    user: undefined,
    password: undefined,
    tls: undefined,
    prefix: 'srv',
    connectTimeout: 3000,
    commandTimeout: 5000,
    maxPending: 100,
    ...more,
  };
}

/** The key-value pairs of one of several nodes in this process, with a connection to Redis and a folder of its own. */
export class PairsNode {
  readonly log = new MemoryLog();
  readonly statuses: NodeStatus[] = [];
  readonly lost: LostWrite[] = [];
  readonly pairs: MasterKeyValue;
  readonly connection: BlockConnection;
  readonly #store: Store;
  #isEnded = false;

  private constructor(
    readonly name: string,
    readonly folder: string,
    { wait, write = 'strict' }: PairsNodeOptions,
  ) {
    this.#store = Store.open(folder);
    this.connection = new BlockConnection('main');
    this.pairs = new MasterKeyValue({
      store: this.#store,
      participants: () => [],
      log: this.log,
      heapSize: () => Infinity,
      staging: new Staging(),
      commitLog: new StoreLog(),
      redisLog: ({ wait }) =>
        new RedisLog({ sequence: new PairSequence({ connection: this.connection, wait }), nodeName: () => name, log: this.log }),
      nodeName: () => name,
      onNode: (status) => this.statuses.push(status),
      onLost: (write) => this.lost.push(write),
    });
    this.pairs.configure({ folder: undefined, maxSize: 1e9, maxKey: 1024, maxValue: 1e6, redis: { name: 'main', write, wait } });
  }

  /** Resolves when it has what is in Redis, or knows that Redis is away. */
  static async start(t: ExecutionContext, name: string, port: number, options: PairsNodeOptions = {}): Promise<PairsNode> {
    const node = new PairsNode(name, options.folder ?? tempFolder(t), options);
    t.teardown(() => node.end());
    node.connection.open(redisSettings(port, options.settings), 'c');
    await node.pairs.follow();
    return node;
  }

  get state(): NodeStatus['state'] {
    return this.pairs.node.state;
  }

  inSync(): Promise<unknown> {
    return waitFor(`${this.name} in sync`, () => this.state === 'in_sync' && this.connection.status.state === 'ready');
  }

  /** All pairs, in their order. */
  all(): Readonly<Record<string, string>> {
    const { pairs } = this.pairs.list({ limit: 1e6 });
    return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.pairs.close();
    this.connection.close('end');
    this.#store.close();
  }
}
