/** A thread of the stress tests: works on a zone until it is told to stop, or forever. */
import * as threads from 'node:worker_threads';
import { Counters } from '../../core/zone/counters.js';
import { HashTable } from '../../core/zone/hash-table.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';

export interface StressData {
  readonly zone: SharedArrayBuffer;
  readonly counters: SharedArrayBuffer;
  readonly thread: number;
  /** `work`: so many steps; `hold`: takes the lock and never gives it back. */
  readonly task: 'work' | 'hold';
  readonly steps: number;
}

/** What a thread tells at its end. */
export interface StressResult {
  readonly added: number;
  readonly faults: readonly string[];
}

const data = threads.workerData as StressData;
const zone = Zone.attach('stress', data.zone);
const counters = new Counters(data.counters, 0, 2);
const random = new Random(data.thread + 1);
const faults: string[] = [];
const live: { offset: number; length: number }[] = [];
let added = 0;

/** So much that the low word is full again and again, also while a thread that has to empty it gets no processor. */
function count(): void {
  for (let times = 0; times < 10; times++) {
    const amount = random.below(2 ** 29);
    counters.add(0, amount);
    added += amount;
  }
}

function useSlab(): void {
  if (live.length < 20 && random.below(2) === 0) {
    const length = 1 + random.below(300);
    const offset = zone.slab.alloc(length);
    if (offset === 0) return;
    zone.bytes.fill(data.thread, offset, offset + length);
    live.push({ offset, length });
    return;
  }
  const [block] = live.splice(random.below(Math.max(live.length, 1)), 1);
  if (!block) return;
  if (!zone.bytes.subarray(block.offset, block.offset + block.length).every((byte) => byte === data.thread))
    faults.push(`block ${block.offset} overwritten`);
  zone.slab.release(block.offset);
}

/** Every entry holds the number of times that its key was found by anyone: found is what the value says, all threads together. */
function useTable(table: HashTable): void {
  const key = `key ${random.below(300)}`;
  const value = table.find(key);
  if (value !== 0) {
    const name = table.keyOf(value).toString();
    if (name !== key) faults.push(`found ${name} for ${key}`);
    zone.u32[value >>> 2]!++;
    if (random.below(10) === 0) table.remove(key);
  } else table.insert(key, 4 + random.below(200), true);
}

function work(): void {
  const table = HashTable.open(zone, 'keys', { entries: 64 });
  if (!table) throw new Error('no room for the table');
  for (let step = 0; step < data.steps; step++) {
    count();
    zone.enter();
    table.check();
    useTable(table);
    useSlab();
    zone.leave();
  }
  zone.enter();
  for (const { offset } of live) zone.slab.release(offset);
  zone.leave();
}

if (data.task === 'hold') {
  zone.enter();
  zone.slab.alloc(100);
  threads.parentPort?.postMessage('holding');
  for (;;);
}
threads.parentPort?.postMessage('working');
work();
threads.parentPort?.postMessage({ added, faults } satisfies StressResult);
