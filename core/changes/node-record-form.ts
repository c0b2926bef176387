import type { NodeRecord } from './node-records.js';

/** Characters of an address, a version and a digest, and of a reason, which may have all errors of a change. */
const LONGEST_TEXT = 255;
const LONGEST_REASON = 1_000_000;
/** The last time that a `Date` has, in milliseconds. */
const LAST_TIME = 8.64e15;
const STATES: ReadonlySet<unknown> = new Set(['in_sync', 'behind', 'diverged']);

type Fields = Readonly<Record<string, unknown>>;

/**
 * A record of another node, as it is in Redis. Others may write there, and nodes of other versions do.
 * @returns undefined: it does not have the form of a record
 */
export function parseNodeRecord(text: string): NodeRecord | undefined {
  const record = parsed(text);
  if (!isFields(record)) return undefined;
  const { id, address, srv, epoch, version, state, since, entry, reason, isStale, files, pairs } = record;
  const isRecord =
    isCount(id) &&
    isText(address, LONGEST_TEXT) &&
    isText(srv, LONGEST_TEXT) &&
    isCount(epoch) &&
    isCount(version) &&
    STATES.has(state) &&
    isCount(since) &&
    since <= LAST_TIME &&
    (entry === undefined || isCount(entry)) &&
    (reason === undefined || isText(reason, LONGEST_REASON)) &&
    typeof isStale === 'boolean' &&
    isFields(files) &&
    Object.values(files).every((digest) => isText(digest, LONGEST_TEXT)) &&
    (pairs === undefined || isPairs(pairs));
  return isRecord ? (record as unknown as NodeRecord) : undefined;
}

function isPairs(pairs: unknown): boolean {
  if (!isFields(pairs)) return false;
  const { state, version, reason, isStale, local } = pairs;
  return (
    STATES.has(state) &&
    isCount(version) &&
    (reason === undefined || isText(reason, LONGEST_REASON)) &&
    typeof isStale === 'boolean' &&
    isCount(local)
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown, longest: number): value is string => typeof value === 'string' && value.length <= longest;
