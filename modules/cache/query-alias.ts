/** Places of responses whose query counts only in part (No-Vary-Search). The rule of a path is an entry of its own, without a body. */
import type { CacheZone, Moment } from './cache-zone.js';
import { digest, randomSeed } from './entry-names.js';
import { normalQuery, parseNoVarySearch } from './rfc9111/no-vary-search.js';
import { textOf } from './rfc9111/fields.js';
import { fieldIn } from './stored-response.js';

export interface EntryPlace {
  readonly key: string;
  readonly name: string;
  /** No-Vary-Search that makes it; empty: all of the query counts. */
  readonly rule: string;
}

const NO_BODY = { async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {} };

/** Name of the entry that has the rule for a key: to be removed with what is stored for the key. */
function ruleName(key: string): string {
  return digest(ruleKey(key));
}

function ruleKey(key: string): string {
  return `${key.split('?', 1)[0]}\nno-vary-search`;
}

/** The place for a key without a rule. */
export function ownPlace(key: string, name = digest(key)): EntryPlace {
  return { key, name, rule: '' };
}

/** True if the part of a key after its question mark is the query, and nothing that has to count. */
function hasQuery(key: string, args: string): boolean {
  const mark = key.indexOf('?');
  return mark < 0 ? args === '' : key.slice(mark + 1) === args;
}

function placeBy(key: string, args: string, rule: string, seed: string): EntryPlace | undefined {
  const variance = parseNoVarySearch(rule);
  if (variance === undefined || !hasQuery(key, args)) return undefined;
  const normal = `${key.split('?', 1)[0]}?${normalQuery(args, variance)}`;
  return { key: normal, name: digest(`${normal}\n${seed}`), rule };
}

/** Looks for the place of a key. @throws (rejects) Error of the system */
export async function findPlace(zone: CacheZone, key: string, args: string): Promise<EntryPlace | undefined> {
  const file = await zone.open(ruleName(key), ruleKey(key));
  if (file === undefined) return undefined;
  const { head, seed } = file.stored;
  file.close();
  return placeBy(key, args, fieldIn(head, 'no-vary-search'), seed);
}

/** The place of a response with another rule for its query than the one before. Undefined: the place stays. @throws (rejects) Error of the system */
export async function changedPlace(
  zone: CacheZone,
  since: Moment,
  key: string,
  args: string,
  rule: string,
  before: EntryPlace,
): Promise<EntryPlace | undefined> {
  if (rule === before.rule) return undefined;
  const place = rule === '' ? undefined : await makePlace(zone, since, key, args, rule);
  if (place !== undefined || before.rule === '') return place;
  await zone.remove(ruleName(key));
  return ownPlace(key);
}

/** Stores another rule, which makes the entries of the one before unreachable. Undefined: it is none. */
async function makePlace(zone: CacheZone, since: Moment, key: string, args: string, rule: string): Promise<EntryPlace | undefined> {
  const seed = randomSeed();
  const place = placeBy(key, args, rule, seed);
  if (place === undefined) return undefined;
  const now = Date.now();
  const times = { date: now, born: now, validUntil: now, staleWhileRevalidate: 0, staleIfError: 0 };
  const texts = { key: ruleKey(key), vary: '', variant: '', seed, etag: '', tags: '', head: textOf(204, [['No-Vary-Search', rule]]) };
  await zone.write(ruleName(key), since, { ...texts, ...times, modified: NaN, flags: 0 }, NO_BODY);
  return place;
}

/** Removes the response with a key, and the rule for its query. @returns whether there was one @throws (rejects) Error of the system */
export async function purgeKey(zone: CacheZone, key: string): Promise<boolean> {
  const [isFound, hadRule] = await Promise.all([zone.purge(digest(key)), zone.purge(ruleName(key))]);
  return isFound || hadRule;
}
