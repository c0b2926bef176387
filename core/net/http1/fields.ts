/** Looking up and copying the fields of a parsed head. */
import { equalsIgnoreCase, nameBytes, rangeIs, startsIgnoreCase } from './characters.js';
import { FieldKind, type MessageHead } from './message-head.js';

/** Index of the first field at or after `from` with that name, in any case; -1: none. `lowerName` is in lower case. */
export function findField(text: string, fields: Int32Array, count: number, lowerName: string, from = 0): number {
  const { length } = lowerName;
  for (let i = from; i < count; i++) {
    const start = fields[4 * i] as number;
    if ((fields[4 * i + 1] as number) - start === length && equalsIgnoreCase(text, start, lowerName)) return i;
  }
  return -1;
}

/** Name of field `index` as it was sent. */
export function fieldName(text: string, fields: Int32Array, index: number): string {
  return text.slice(fields[4 * index], fields[4 * index + 1]);
}

/** Value of field `index` without the white space around it. */
export function fieldValue(text: string, fields: Int32Array, index: number): string {
  return text.slice(fields[4 * index + 2], fields[4 * index + 3]);
}

/** A set of field names, made once and asked for every field of every message. */
export class FieldFilter {
  /** 1 for the lengths of its names: decides most questions. */
  readonly lengths = new Uint8Array(256);
  readonly names: readonly Uint8Array[];

  /** @param names in lower case, up to 255 characters */
  constructor(names: Iterable<string>) {
    this.names = Array.from(new Set(names), nameBytes);
    for (const name of this.names) this.lengths[name.length] = 1;
  }

  /** True if the name in `bytes[start, end)` is in the set, in any case. */
  has(bytes: Uint8Array, start: number, end: number): boolean {
    for (const name of this.names) if (name.length === end - start && startsIgnoreCase(bytes, start, name)) return true;
    return false;
  }
}

/** Filters by their names: thousands of locations mostly have the same few. */
export class FieldFilters {
  readonly #filters = new Map<string, WeakRef<FieldFilter>>();
  readonly #bySet = new WeakMap<ReadonlySet<string>, FieldFilter>();

  /** @param more the same in every call */
  ofSet(names: ReadonlySet<string>, more: readonly string[]): FieldFilter {
    const known = this.#bySet.get(names);
    if (known !== undefined) return known;
    const filter = this.of([...more, ...names]);
    this.#bySet.set(names, filter);
    return filter;
  }

  /** @param names as of {@link FieldFilter} */
  of(names: Iterable<string>): FieldFilter {
    const sorted = [...names].toSorted();
    const key = sorted.join(' ');
    const known = this.#filters.get(key)?.deref();
    if (known !== undefined) return known;
    const filter = new FieldFilter(sorted);
    for (const [old, reference] of this.#filters) if (reference.deref() === undefined) this.#filters.delete(old);
    this.#filters.set(key, new WeakRef(filter));
    return filter;
  }
}

/**
 * The field lines that go on to the next hop, each with its CRLF: all except the ones in `filter`, the fields of this hop (RFC 9110, 7.6.1:
 * Connection, Keep-Alive, Proxy-Connection, TE, Transfer-Encoding, Upgrade) and fields that Connection names. Lines in a row are copied as
 * one range. Trailer, Expect and Proxy-Authorization end here only if they are in `filter`.
 */
export function keptFields(text: string, head: MessageHead, filter: FieldFilter): string {
  if (head.gaps) return keptOneByOne(text, head, filter);
  const { fields, kinds, count, bytes } = head;
  const { lengths } = filter;
  const last = head.end - 2;
  const nominates = head.optionCount > 0;
  let kept = '';
  let from = head.fieldsStart;
  for (let i = 0, slot = 0; i < count; i++, slot += 4) {
    const start = fields[slot] as number;
    const end = fields[slot + 1] as number;
    if ((kinds[i] as number) < FieldKind.Hop) {
      const filtered = lengths[end - start] === 1 && filter.has(bytes, start, end);
      if (!filtered && !(nominates && isNominated(text, head, i))) continue;
    }
    if (start > from) kept += text.slice(from, start);
    from = i + 1 < count ? (fields[slot + 4] as number) : last;
  }
  return from < last ? kept + text.slice(from, last) : kept;
}

/** Where lines were dropped, the next field does not begin where one ends. */
function keptOneByOne(text: string, head: MessageHead, filter: FieldFilter): string {
  const { fields, kinds, count, bytes } = head;
  let kept = '';
  for (let i = 0; i < count; i++) {
    const start = fields[4 * i] as number;
    if ((kinds[i] as number) >= FieldKind.Hop || filter.has(bytes, start, fields[4 * i + 1] as number) || isNominated(text, head, i))
      continue;
    kept += `${text.slice(start, fields[4 * i + 3])}\r\n`;
  }
  return kept;
}

/**
 * Fields for all recipients, which Connection must not name (RFC 9110, 7.6.1): a client could take away what a proxy before this one says of it,
 * and so pass for that proxy.
 */
const END_TO_END = /^(?:authorization|cookie|forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip)$/;

/**
 * True if Connection names the field. Host and Content-Length are never removed by it either: without them the next hop would route or frame the
 * message differently.
 */
function isNominated(text: string, head: MessageHead, index: number): boolean {
  const kind = head.kinds[index] as number;
  if (head.optionCount === 0 || kind === FieldKind.Host || kind === FieldKind.ContentLength) return false;
  const lowerName = fieldName(text, head.fields, index).toLowerCase();
  if (END_TO_END.test(lowerName)) return false;
  const name = nameBytes(lowerName);
  for (let i = 0; i < head.optionCount; i++) {
    if (rangeIs(head.bytes, head.options[2 * i] as number, head.options[2 * i + 1] as number, name)) return true;
  }
  return false;
}

/**
 * Drops the fields of a request that Connection names. They go to no next hop, so variables, keys and modules must not see them either: a cache would
 * store a response under the value of a field that its member has not got.
 */
export function dropNominated(head: MessageHead): void {
  if (head.optionCount === 0) return;
  const { text, fields, kinds, count } = head;
  let kept = 0;
  for (let i = 0; i < count; i++) {
    if (kinds[i] === FieldKind.Ordinary && isNominated(text, head, i)) continue;
    if (kept < i) {
      fields.copyWithin(4 * kept, 4 * i, 4 * i + 4);
      kinds[kept] = kinds[i] as number;
      if (head.hostField === i) head.hostField = kept;
    }
    kept++;
  }
  head.gaps ||= kept < count;
  head.count = kept;
  // Fields that are passed on need no second comparison.
  head.optionCount = 0;
}
