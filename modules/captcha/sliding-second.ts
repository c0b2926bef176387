import type { RecordFields, Records } from '../../core/contract/zones.js';

/** Milliseconds of a slot. */
const SLOT = 50;
/** A second, and the slot that is under way. */
const SLOTS = 21;
/** Slots in one number of a record, of as many values: no number has more than 53 bits. */
const PACKED = 5;
const VALUES = 2 ** 10;
const LARGEST = VALUES - 1;
/** A clock that was set back by more slots than this starts again. */
const CLOCK_SET_BACK = 20;

/** The highest rate that is counted exactly: a full slot counts no more. */
export const HIGHEST_RATE = 20_000;

export const SLIDING_FIELDS = ['slot', 'total', 'n0', 'n1', 'n2', 'n3', 'n4'] as const;
/** Of a zone that nodes share: requests that this node has counted. */
export const SHARED_FIELDS = [...SLIDING_FIELDS, 'counted'] as const;
type Field = (typeof SHARED_FIELDS)[number];
export type SlidingRecords = Records<Field>;
type Counts = RecordFields<Field>;
const NUMBERS = ['n0', 'n1', 'n2', 'n3', 'n4'] as const;
/** The number that a slot is in, and its unit there. */
const NUMBER_OF = Array.from({ length: SLOTS }, (_, place) => NUMBERS[Math.floor(place / PACKED)]!);
const UNIT_OF = Array.from({ length: SLOTS }, (_, place) => VALUES ** (place % PACKED));

/** One count, and its result. */
interface Count {
  slot: number;
  total: number;
}

/** The requests of each key in the last second, over all workers, in slots of 50 ms. */
export class SlidingSecond {
  /** Counts do not wait, so one will do. */
  readonly #count: Count = { slot: 0, total: 0 };

  constructor(
    private readonly records: SlidingRecords,
    private readonly isShared: boolean,
  ) {}

  /** Counts one request. @returns those of the last second, this one included; infinity: the zone has no room for the key */
  add(key: string, now: number): number {
    this.#count.slot = Math.floor(now / SLOT);
    return this.records.update(key, this.isShared ? countShared : count, this.#count) === 'full' ? Infinity : this.#count.total;
  }

  /** The requests of the last second, without counting one. */
  look(key: string, now: number): number {
    const counts = this.records.get(key);
    if (counts === undefined) return 0;
    advance(counts, Math.floor(now / SLOT));
    return counts.total;
  }
}

function count(counts: Counts, result: Count): boolean {
  if (counts.slot !== result.slot) advance(counts, result.slot);
  const place = counts.slot % SLOTS;
  if (countOf(counts, place) < LARGEST) {
    counts[NUMBER_OF[place]!] += UNIT_OF[place]!;
    counts.total++;
  }
  result.total = counts.total;
  return true;
}

function countShared(counts: Counts, result: Count): boolean {
  counts.counted++;
  return count(counts, result);
}

/** Counts the requests that other nodes have had in the last moments. A full slot counts no more: then they are put into those before it. */
export function countOthers(counts: Counts, requests: number, now: number): void {
  const slot = Math.floor(now / SLOT);
  if (counts.slot !== slot) advance(counts, slot);
  let left = Math.max(0, Math.trunc(requests));
  for (let passed = 0; passed < SLOTS && left > 0; passed++) {
    const place = (counts.slot - passed) % SLOTS;
    const added = Math.min(left, LARGEST - countOf(counts, place));
    counts[NUMBER_OF[place]!] += added * UNIT_OF[place]!;
    counts.total += added;
    left -= added;
  }
}

function countOf(counts: Counts, place: number): number {
  return Math.floor(counts[NUMBER_OF[place]!] / UNIT_OF[place]!) % VALUES;
}

/** Empties the slots between the last request and this one. */
function advance(counts: Counts, slot: number): void {
  const passed = slot - counts.slot;
  if (passed <= 0 && passed >= -CLOCK_SET_BACK) return;
  if (passed >= SLOTS || passed < 0) clearAll(counts);
  else for (let at = counts.slot + 1; at <= slot; at++) clear(counts, at % SLOTS);
  counts.slot = slot;
}

function clear(counts: Counts, place: number): void {
  const gone = countOf(counts, place);
  counts[NUMBER_OF[place]!] -= gone * UNIT_OF[place]!;
  counts.total -= gone;
}

function clearAll(counts: Counts): void {
  for (const name of NUMBERS) counts[name] = 0;
  counts.total = 0;
}
