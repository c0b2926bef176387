/** Looking up and copying the fields of a parsed head. */
import { equalsIgnoreCase, nameBytes, rangeIs, startsIgnoreCase } from './characters.js';
import { FieldKind, type MessageHead } from './message-head.js';

/** Index of the first field at or behind `from` with that name, in any case; -1: none. `lowerName` is in lower case. */
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
  /** The names by their length; the length decides most questions. */
  readonly byLength: (readonly Uint8Array[] | undefined)[] = [];

  /** @param names in lower case */
  constructor(names: Iterable<string>) {
    const lists: Uint8Array[][] = [];
    for (const name of names) (lists[name.length] ??= []).push(nameBytes(name));
    // A list with holes would be slower to index.
    for (let i = 0; i <= LONGEST_NAME || i < lists.length; i++) this.byLength.push(lists[i]);
  }
}

/** Names up to here are looked up without a test of the table's end. */
const LONGEST_NAME = 63;

/** True if the name in `bytes[start, end)` is one of `names`, in any case. */
function isOneOf(bytes: Uint8Array, start: number, names: readonly Uint8Array[]): boolean {
  for (const name of names) if (startsIgnoreCase(bytes, start, name)) return true;
  return false;
}

/**
 * The field lines that go on to the next hop, each with its CRLF: all except those in `filter`, the fields of this hop (RFC 9110,
 * 7.6.1: Connection, Keep-Alive, Proxy-Connection, TE, Transfer-Encoding, Upgrade) and those that Connection names. Lines in a row are
 * copied as one range. Trailer, Expect and Proxy-Authorization end here only if they are in `filter`.
 */
export function keptFields(text: string, head: MessageHead, filter: FieldFilter): string {
  if (head.gaps) return keptOneByOne(text, head, filter);
  const { fields, count } = head;
  let kept = '';
  let from = head.fieldsStart;
  for (let i = 0; i < count; i++) {
    if (isKept(text, head, i, filter)) continue;
    const start = fields[4 * i] as number;
    if (start > from) kept += text.slice(from, start);
    from = i + 1 < count ? (fields[4 * i + 4] as number) : head.end - 2;
  }
  return from < head.end - 2 ? kept + text.slice(from, head.end - 2) : kept;
}

/** Where lines were dropped, the next field does not begin where one ends. */
function keptOneByOne(text: string, head: MessageHead, filter: FieldFilter): string {
  let kept = '';
  for (let i = 0; i < head.count; i++) {
    if (isKept(text, head, i, filter)) kept += `${text.slice(head.fields[4 * i], head.fields[4 * i + 3])}\r\n`;
  }
  return kept;
}

function isKept(text: string, head: MessageHead, index: number, filter: FieldFilter): boolean {
  if ((head.kinds[index] as number) >= FieldKind.Hop) return false;
  const { fields, bytes } = head;
  const start = fields[4 * index] as number;
  const names = filter.byLength[(fields[4 * index + 1] as number) - start];
  if (names !== undefined && isOneOf(bytes, start, names)) return false;
  return head.optionCount === 0 || !isNominated(text, head, index);
}

/**
 * True if Connection names the field. Host and Content-Length are never taken out by it: without them the next hop would route or
 * frame the message in another way than this one does.
 */
function isNominated(text: string, head: MessageHead, index: number): boolean {
  const kind = head.kinds[index] as number;
  if (kind === FieldKind.Host || kind === FieldKind.ContentLength) return false;
  const name = nameBytes(fieldName(text, head.fields, index).toLowerCase());
  for (let i = 0; i < head.optionCount; i++) {
    if (rangeIs(head.bytes, head.options[2 * i] as number, head.options[2 * i + 1] as number, name)) return true;
  }
  return false;
}
