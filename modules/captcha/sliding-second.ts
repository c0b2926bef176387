import type { RecordFields, Records } from '../../core/contract/zones.js';

/** Milliseconds of a slot. */
const SLOT = 50;
/** A second, and the slot that is under way. */
const SLOTS = 21;
/** Slots in one number of a record, of as many bits: no number has more than 53. */
const PACKED = 3;
const BITS = 2 ** 17;
const LARGEST = BITS - 1;
/** A clock that was set back by more slots than this starts again. */
const CLOCK_SET_BACK = 20;

export const SLIDING_FIELDS = ['slot', 'n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6'] as const;
type Field = (typeof SLIDING_FIELDS)[number];
const NUMBERS = SLIDING_FIELDS.slice(1);

/** One count, and its result. */
interface Count {
  slot: number;
  total: number;
}

/** The requests of each key in the last second, over all workers, in slots of 50 ms. */
export class SlidingSecond {
  /** Counts do not wait, so one will do. */
  readonly #count: Count = { slot: 0, total: 0 };

  constructor(private readonly records: Records<Field>) {}

  /** Counts one request. @returns those of the last second, this one included; infinity: the zone has no room for the key */
  add(key: string, now: number): number {
    this.#count.slot = Math.floor(now / SLOT);
    return this.records.update(key, count, this.#count) === 'full' ? Infinity : this.#count.total;
  }

  /** The requests of the last second, without counting one. */
  look(key: string, now: number): number {
    const fields = this.records.get(key);
    if (fields === undefined) return 0;
    advance(fields, Math.floor(now / SLOT));
    return totalOf(fields);
  }
}

function count(fields: RecordFields<Field>, result: Count): boolean {
  advance(fields, result.slot);
  const place = fields.slot % SLOTS;
  const name = NUMBERS[Math.floor(place / PACKED)]!;
  const unit = BITS ** (place % PACKED);
  if (Math.floor(fields[name] / unit) % BITS < LARGEST) fields[name] += unit;
  result.total = totalOf(fields);
  return true;
}

/** Empties the slots between the last request and this one. */
function advance(fields: RecordFields<Field>, slot: number): void {
  const passed = slot - fields.slot;
  if (passed <= 0 && passed >= -CLOCK_SET_BACK) return;
  if (passed >= SLOTS || passed < 0) for (const name of NUMBERS) fields[name] = 0;
  else for (let at = fields.slot + 1; at <= slot; at++) clear(fields, at % SLOTS);
  fields.slot = slot;
}

function clear(fields: RecordFields<Field>, place: number): void {
  const name = NUMBERS[Math.floor(place / PACKED)]!;
  const unit = BITS ** (place % PACKED);
  fields[name] -= (Math.floor(fields[name] / unit) % BITS) * unit;
}

function totalOf(fields: RecordFields<Field>): number {
  let total = 0;
  for (let at = 0; at < NUMBERS.length; at++) {
    const three = fields[NUMBERS[at]!];
    if (three === 0) continue;
    const two = Math.floor(three / BITS);
    total += (three % BITS) + (two % BITS) + Math.floor(two / BITS);
  }
  return total;
}
