import { tellOfChange, tellOfNode } from '../changes/change-event.js';
import { StoredHistory } from '../changes/configuration-history.js';
import { MasterKeyValue } from '../changes/key-value.js';
import type { RedisConnection } from '../contract/redis.js';
import { RedisPairLog } from '../changes/redis-pair-log.js';
import { StoreLog } from '../changes/store-log.js';
import type { TransactionOptions } from '../changes/transaction-options.js';
import { TransactionQueue } from '../changes/transactions.js';
import type { Events } from '../contract/events.js';

export interface ChangesOptions extends Omit<TransactionOptions, 'commitLog' | 'onCommitted' | 'onNode'> {
  readonly events: Events;
  /** The connection of a `redis` block. Only after the first commit. */
  readonly redis: (name: string) => RedisConnection;
}

/** State that changes at run time and outlives the server: the configuration with its history, and the key-value pairs. */
export interface Changes {
  readonly transactions: TransactionQueue;
  readonly history: StoredHistory;
  readonly keyValue: MasterKeyValue;
}

export function openChanges({ events, redis, ...options }: ChangesOptions): Changes {
  const { store, log } = options;
  const commitLog = new StoreLog();
  const transactions = new TransactionQueue({
    ...options,
    commitLog,
    onCommitted: (change) => tellOfChange(events, change),
    onNode: (status) => tellOfNode(events, log, 'configuration', status),
  });
  const keyValue = new MasterKeyValue({
    ...options,
    commitLog,
    redisLog: ({ name, wait }) => new RedisPairLog({ connection: redis(name), nodeName: options.nodeName, log, wait }),
    onNode: (status) => tellOfNode(events, log, 'key-value', status),
  });
  return { transactions, history: new StoredHistory(store, transactions), keyValue };
}
