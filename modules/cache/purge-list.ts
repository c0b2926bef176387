/** Purges of one cache: plain data, which threads copy. A purge costs the same, however many there were. */

/** Purges of one thing by their numbers, 0: none. Responses stored before `hard` are gone, those stored before `soft` are stale. */
interface Mark {
  hard: number;
  soft: number;
}

export const PURGE_KINDS = ['all', 'key', 'prefix', 'tag'] as const;
export type PurgeKind = (typeof PURGE_KINDS)[number];

/** One purge. `text` is bytes as latin1; empty for `all`. */
export interface Purge {
  /** Greater than that of every purge before; about the epoch milliseconds when it was made. */
  readonly number: number;
  readonly kind: PurgeKind;
  readonly text: string;
  readonly isSoft: boolean;
}

export interface PurgeList {
  /** Number of the last one. */
  last: number;
  /** Number of the first one that is not done, or a smaller one; 0: all are done. */
  first: number;
  /** Purges up to this one are done: nothing that they are about is in a file any more. */
  done: number;
  /** Marks of keys, prefixes and tags. */
  size: number;
  readonly all: Mark;
  readonly keys: Map<string, Mark>;
  /** By their lengths: a key is looked for once for each length. */
  readonly prefixes: Map<number, Map<string, Mark>>;
  readonly tags: Map<string, Mark>;
}

/** The state of a stored response after the purges. A number: the one of the purge since which it is stale. */
export type Verdict = 'valid' | 'gone' | number;

/** Marks of a cache: one more, and everything that it has is purged instead. */
export const MOST_MARKS = 20_000;

export function emptyList(): PurgeList {
  return { last: 0, first: 0, done: 0, size: 0, all: { hard: 0, soft: 0 }, keys: new Map(), prefixes: new Map(), tags: new Map() };
}

export function addPurge(list: PurgeList, { number, kind, text, isSoft }: Purge): void {
  const mark = kind === 'all' ? list.all : markOf(list, kind, text);
  if (isSoft) mark.soft = number;
  else mark.hard = number;
  list.last = Math.max(list.last, number);
  if (list.first === 0) list.first = number;
}

function markOf(list: PurgeList, kind: Exclude<PurgeKind, 'all'>, text: string): Mark {
  const marks = marksOf(list, kind, text);
  const known = marks.get(text);
  if (known !== undefined) return known;
  const mark = { hard: 0, soft: 0 };
  marks.set(text, mark);
  list.size++;
  return mark;
}

function marksOf(list: PurgeList, kind: Exclude<PurgeKind, 'all'>, text: string): Map<string, Mark> {
  if (kind === 'key') return list.keys;
  if (kind === 'tag') return list.tags;
  const known = list.prefixes.get(text.length);
  if (known !== undefined) return known;
  const marks = new Map<string, Mark>();
  list.prefixes.set(text.length, marks);
  return marks;
}

/** Forgets the purges up to a number. */
export function forgetPurges(list: PurgeList, number: number): void {
  list.done = Math.max(list.done, number);
  list.first = list.last > number ? number + 1 : 0;
  list.size = forgetIn(list.keys, number) + forgetIn(list.tags, number);
  for (const [length, marks] of list.prefixes) {
    const left = forgetIn(marks, number);
    list.size += left;
    if (left === 0) list.prefixes.delete(length);
  }
}

/** @returns how many are left */
function forgetIn(marks: Map<string, Mark>, number: number): number {
  for (const [text, { hard, soft }] of marks) if (Math.max(hard, soft) <= number) marks.delete(text);
  return marks.size;
}

/** The facts of a stored response that purges are about. */
export interface Purgeable {
  readonly key: string;
  /** Separated by spaces. */
  readonly tags: string;
  /** {@link PurgeList.last} when the member was asked for it. */
  readonly generation: number;
}

export function verdictOn(list: PurgeList, entry: Purgeable): Verdict {
  const { generation, key, tags } = entry;
  if (generation >= list.last) return 'valid';
  const { hard, soft } = lastMark(list, key, tags);
  if (hard > generation) return 'gone';
  return soft > generation ? soft : 'valid';
}

/** Number of the last purge of a key, of a prefix of it, or of everything; 0: there is none. */
export function lastPurgeOf(list: PurgeList, key: string): number {
  const { hard, soft } = lastMark(list, key, '');
  return Math.max(hard, soft);
}

function lastMark(list: PurgeList, key: string, tags: string): Mark {
  let { hard, soft } = list.all;
  const add = (mark: Mark | undefined): void => {
    if (mark === undefined) return;
    hard = Math.max(hard, mark.hard);
    soft = Math.max(soft, mark.soft);
  };
  add(list.keys.get(key));
  for (const [length, marks] of list.prefixes) if (length <= key.length) add(marks.get(key.slice(0, length)));
  if (tags !== '') for (const tag of tags.split(' ')) add(list.tags.get(tag));
  return { hard, soft };
}
