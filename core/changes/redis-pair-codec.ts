import type { LogEntry } from './commit-log.js';
import type { PairData } from './key-value-copy.js';
import type { PairEntry } from './pair-entry.js';
import { markOf, numberOf, type RawEntry } from './redis-sequence.js';

/** A change as it is in Redis: lifetimes in place of times, since clocks differ. Milliseconds; 0: it never expires. */
interface SentEntry {
  readonly set: readonly { readonly key: string; readonly value: string; readonly ttl: number }[];
  readonly deleted: readonly string[];
  /** Keys that were written before, and how long ago. */
  readonly ages?: readonly (readonly [key: string, ms: number])[];
}

export function sentEntry({ set, deleted, times }: PairEntry): string {
  const now = Date.now();
  const sent: SentEntry = {
    // A lone surrogate has no UTF-8.
    set: set.map(({ key, value, expires }) => ({
      key: key.toWellFormed(),
      value: value.toWellFormed(),
      ttl: expires === 0 ? 0 : Math.max(1, Math.ceil(expires - now)),
    })),
    deleted: deleted.map((key) => key.toWellFormed()),
    ...(times !== undefined && { ages: Array.from(times, ([key, at]) => [key.toWellFormed(), Math.max(0, now - at)] as const) }),
  };
  return JSON.stringify(sent);
}

/** @param clockOffset milliseconds that the clock of Redis is ahead */
export function logEntry(raw: RawEntry, clockOffset: number): LogEntry<PairEntry> {
  const [, [, node = '', , at = '0', , , , , , content = '']] = raw;
  const { set, deleted, ages } = JSON.parse(content) as SentEntry;
  const time = Number(at) - clockOffset;
  const pairs = set.map(({ key, value, ttl }) => ({ key, value, expires: ttl === 0 ? 0 : time + ttl }));
  return {
    number: numberOf(raw),
    node,
    at: time,
    mark: Number(markOf(raw)),
    content: { set: pairs, deleted, ...(ages && { times: new Map(ages.map(([key, ms]) => [key, time - ms])) }) },
  };
}

/** A pair as it is in Redis, without its key. */
export function storedPair({ version, expires, value }: PairData, clockOffset: number): string {
  return `${version}:${expires === 0 ? 0 : Math.round(expires + clockOffset)}:${value.toWellFormed()}`;
}

export function pairOf(key: string, stored: string, clockOffset: number): PairData {
  const [, version, expires, value = ''] = /^(\d+):(\d+):(.*)$/s.exec(stored) ?? [];
  return { key, value, version: Number(version), expires: expires === '0' ? 0 : Number(expires) - clockOffset };
}
