import type { RedisConnection } from '../../contract/redis.js';
import { BatchReader, BatchWriter } from './batch.js';
import type { SyncedTable } from './synced-table.js';

/** Periods in the life of a record. */
const PERIODS = 2;
const SCAN_COUNT = 1000;
/** Changed and expires, in front of the bytes of a record. */
const TIMES = 16;

/** A hash of Redis, and arguments for the script that fills it. */
export interface StoredPart {
  readonly key: string;
  readonly args: readonly (string | number)[];
}

const period = ({ ttl }: SyncedTable): number => Math.ceil(ttl / PERIODS);
const keyOf = (keys: string, { id }: SyncedTable, number: number): string => `${keys}zone:${id}:${number}`;

/** Records of a batch as they are put into Redis for nodes that come later. @param now by the common clock */
export function storedParts(batch: string, tables: ReadonlyMap<string, SyncedTable>, keys: string, now: number): StoredPart[] {
  const parts: StoredPart[] = [];
  for (const section of new BatchReader(batch).sections()) {
    const table = tables.get(section.shape.id);
    if (table?.kind !== 'last') continue;
    const pairs: string[] = [];
    while (section.next()) {
      const times = Buffer.from(section.amounts.buffer, section.amounts.byteOffset, TIMES);
      pairs.push(section.key.toString('base64'), Buffer.concat([times, section.value]).toString('base64'));
    }
    const length = period(table);
    const args = [table.ttl + length, table.mostKeys, pairs.length / 2, ...pairs];
    if (pairs.length > 0) parts.push({ key: keyOf(keys, table, Math.floor(now / length)), args });
  }
  return parts;
}

/**
 * Reads the records of a table that other nodes have put into Redis.
 * @param now by the common clock, which is `offset` milliseconds ahead
 * @param ignored called for what is not a record
 * @throws RedisFailure
 */
export async function readStored(
  connection: RedisConnection,
  table: SyncedTable,
  now: number,
  offset: number,
  ignored: () => void,
): Promise<void> {
  const length = period(table);
  for (let number = Math.floor((now - table.ttl) / length); number <= Math.floor(now / length); number++) {
    let cursor = '0';
    let left = table.mostKeys;
    do {
      const reply = await connection.command('HSCAN', keyOf(connection.keys, table, number), cursor, 'COUNT', SCAN_COUNT);
      const [next, pairs] = reply as readonly [string, readonly string[]];
      applyPairs(pairs, table, offset, ignored);
      left -= pairs.length / 2;
      cursor = next;
    } while (cursor !== '0' && left > 0);
  }
}

function applyPairs(pairs: readonly string[], table: SyncedTable, offset: number, ignored: () => void): void {
  const batch = new BatchWriter();
  const { shape } = table;
  const apply = (): void => {
    for (const section of new BatchReader(batch.text).sections()) table.apply(section, offset, '');
    batch.clear();
    batch.begin(shape);
  };
  batch.begin(shape);
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const key = Buffer.from(pairs[at]!, 'base64');
    const data = Buffer.from(pairs[at + 1]!, 'base64');
    if (data.length !== TIMES + shape.valueLength || key.length > 65_535) ignored();
    else {
      if (!batch.hasRoom(shape)) apply();
      batch.add(key, [data.readDoubleLE(0), data.readDoubleLE(8)], data.subarray(TIMES));
    }
  }
  apply();
}
