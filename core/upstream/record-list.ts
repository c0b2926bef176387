import type { Zone } from '../zone/zone.js';
import { W } from './layout.js';
import { wordOf } from '../zone/offsets.js';

/** Lists of records, linked both ways through {@link W.next} and {@link W.before}. A record is in one of them at most. */

/**
 * Puts a record after `after` (0: first), before `next` (0: last).
 * @param head word that names the first
 * @param tail word that names the last, 0: the list has none
 */
export function insertBetween(zone: Zone, record: number, after: number, next: number, head: number, tail: number): void {
  const { u32 } = zone;
  u32[wordOf(record) + W.before] = after;
  u32[wordOf(record) + W.next] = next;
  u32[after === 0 ? head : wordOf(after) + W.next] = record;
  if (next !== 0) u32[wordOf(next) + W.before] = record;
  else if (tail !== 0) u32[tail] = record;
}

export function unlink(zone: Zone, record: number, head: number, tail: number): void {
  const { u32 } = zone;
  const next = u32[wordOf(record) + W.next]!;
  const before = u32[wordOf(record) + W.before]!;
  u32[before === 0 ? head : wordOf(before) + W.next] = next;
  if (next !== 0) u32[wordOf(next) + W.before] = before;
  else if (tail !== 0) u32[tail] = before;
}
