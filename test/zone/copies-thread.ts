/** A thread of the stress test of copies: finds, offers and drops them, for so many steps. */
import { parentPort, workerData } from 'node:worker_threads';
import { ZoneCopies } from '../../core/zone/copies.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';

export interface CopiesData {
  readonly zone: SharedArrayBuffer;
  readonly bytes: number;
  readonly seed: number;
  readonly names: number;
  readonly steps: number;
  /** Of each name: the version of what copies are made of, and the one whose copies were dropped last. */
  readonly versions: Int32Array;
  readonly dropped: Int32Array;
}

export interface CopiesResult {
  readonly hits: number;
  /** Copies that had bytes of another one, or were of before a change. */
  readonly wrong: readonly string[];
}

const { zone: buffer, bytes, seed, names, steps, versions, dropped } = workerData as CopiesData;
const copies = ZoneCopies.open(Zone.attach('stress', buffer), bytes)!;
const random = new Random(seed);
const into = Buffer.alloc(copies.longest);
const wrong: string[] = [];
let hits = 0;

/** The version, and bytes that say the same. */
function content(name: number, version: number): Buffer {
  const made = Buffer.alloc(8 + 4 * random.below(1000), (name * 7 + version) & 255);
  made.writeInt32LE(name, 0);
  made.writeInt32LE(version, 4);
  return made;
}

function check(name: number, length: number, least: number): void {
  const version = into.readInt32LE(4);
  const byte = (name * 7 + version) & 255;
  if (into.readInt32LE(0) !== name) wrong.push(`${name}: of ${into.readInt32LE(0)}`);
  else if (version < least) wrong.push(`${name}: version ${version}, dropped before ${least}`);
  else if (into.subarray(8, length).some((one) => one !== byte)) wrong.push(`${name}: other bytes`);
}

parentPort?.postMessage('working');
for (let step = 0; step < steps; step++) {
  const name = Math.floor((random.below(1000) / 1000) ** 3 * names);
  const text = (name * 2_654_435_761).toString(16).padStart(32, '0');
  const least = Atomics.load(dropped, name);
  const found = copies.find(text);
  if (found !== undefined && copies.read(found, 0, into)) {
    hits++;
    check(name, found.length, least);
  } else {
    const version = Atomics.load(versions, name);
    copies.offer(text, content(name, version), () => Atomics.load(versions, name) === version);
  }
  if (random.below(50) > 0) continue;
  const next = Atomics.add(versions, name, 1) + 1;
  copies.drop(text);
  for (let seen = Atomics.load(dropped, name); seen < next;) seen = Atomics.compareExchange(dropped, name, seen, next);
}
parentPort?.postMessage({ hits, wrong } satisfies CopiesResult);
