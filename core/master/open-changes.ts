import { tellOfChange, tellOfLostWrite, tellOfNode } from '../changes/change-event.js';
import { StoredHistory } from '../changes/configuration-history.js';
import { MasterKeyValue } from '../changes/key-value.js';
import type { ClusterChanges, RedisConnection } from '../contract/redis.js';
import type { ChangeContent } from '../changes/change-content.js';
import { ChosenLog } from '../changes/chosen-log.js';
import { ChangeSequence } from '../changes/change-sequence.js';
import { RedisLog } from '../changes/redis-log.js';
import { PairSequence } from '../changes/pair-sequence.js';
import { StoreLog } from '../changes/store-log.js';
import type { StoreState } from '../changes/store-state.js';
import type { TransactionOptions } from '../changes/transaction-options.js';
import { TransactionQueue } from '../changes/transactions.js';
import type { Events } from '../contract/events.js';
import type { NodeCluster } from './node-cluster.js';

export interface ChangesOptions extends Omit<TransactionOptions, 'commitLog' | 'onCommitted' | 'onInForce' | 'onNode'> {
  readonly events: Events;
  /** The connection of a `redis` block. Only after the first commit. */
  readonly redis: (name: string) => RedisConnection;
  readonly cluster: NodeCluster;
}

/** State that changes at run time and outlives the server: the configuration with its history, and the key-value pairs. */
export interface Changes {
  readonly transactions: TransactionQueue;
  readonly history: StoredHistory;
  readonly keyValue: MasterKeyValue;
  /** From the start on, the configuration is that of several nodes. Before it is followed. */
  share(changes: () => ClusterChanges): void;
}

export function openChanges({ events, redis, cluster, ...options }: ChangesOptions): Changes {
  const { store, log, nodeName } = options;
  const own = new StoreLog();
  const commitLog = new ChosenLog<ChangeContent, StoreState>(own);
  const transactions = new TransactionQueue({
    ...options,
    commitLog,
    onCommitted: (change) => tellOfChange(events, change),
    onInForce: () => cluster.changed(),
    onNode: (status) => {
      tellOfNode(events, log, 'configuration', status);
      cluster.changed();
    },
  });
  const keyValue = new MasterKeyValue({
    ...options,
    commitLog: own,
    redisLog: ({ name, wait }) => new RedisLog({ sequence: new PairSequence({ connection: redis(name), wait }), nodeName, log }),
    onNode: (status) => tellOfNode(events, log, 'key-value', status),
    onLost: (write) => tellOfLostWrite(events, log, write),
  });
  const share = (changes: () => ClusterChanges): void => {
    const sequence = new ChangeSequence({ changes, nodeName, log });
    commitLog.choose(new RedisLog({ sequence, nodeName, log }));
    cluster.join({ changes: sequence, connection: changes().connection, id: store.id });
  };
  return { transactions, history: new StoredHistory(store, transactions), keyValue, share };
}
