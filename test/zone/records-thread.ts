/** A thread of the stress tests of records and holds: counts, holds and releases, for so many steps. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RecordFields } from '../../core/contract/zones.js';
import { ZoneHolds } from '../../core/zone/holds.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';

export interface RecordsData {
  readonly zone: SharedArrayBuffer;
  readonly worker: number;
  readonly workers: number;
  readonly keys: number;
  readonly limit: number;
  readonly steps: number;
}

/** What a thread has done: additions by key, and whether a limit was exceeded. */
export interface RecordsResult {
  readonly added: readonly number[];
  readonly exceeded: boolean;
}

const { zone: buffer, worker, workers, keys, limit, steps } = workerData as RecordsData;
const zone = Zone.attach('stress', buffer);
const records = ZoneRecords.open(zone, { fields: ['sum', 'twice'], strings: { text: 24 } }, { now: 1 })!;
const holds = ZoneHolds.open(zone, worker, workers)!;
const random = new Random(worker + 1);
const added = Array<number>(keys).fill(0);
const held: string[] = [];
let exceeded = false;

/** All fields change together: one must always be twice the other, and the third says the same in words. */
function grow(fields: RecordFields<'sum' | 'twice', 'text'>, amount: number): boolean {
  if (fields.twice !== fields.sum * 2 || fields.text !== textOf(fields.sum)) exceeded = true;
  fields.sum += amount;
  fields.twice = fields.sum * 2;
  fields.text = textOf(fields.sum);
  return true;
}

/** Of many lengths. */
function textOf(sum: number): string {
  return sum === 0 ? '' : `${sum} `.repeat(1 + (sum % 3)).slice(0, 24);
}

parentPort?.postMessage('working');
for (let step = 0; step < steps; step++) {
  const key = random.below(keys);
  const amount = random.below(10);
  if (records.update(`key ${key}`, grow, amount) === 'stored') added[key]! += amount;
  if (held.length < 4 && holds.acquire(`held ${key}`, limit) === 'held') {
    held.push(`held ${key}`);
    if (holds.count(`held ${key}`) > limit) exceeded = true;
  } else if (held.length > 0) holds.release(held.splice(random.below(held.length), 1)[0]!);
}
for (const key of held) holds.release(key);
parentPort?.postMessage({ added, exceeded } satisfies RecordsResult);
