/** The field lines of a head, in one pass (RFC 9112, 5 and 6). */
import {
  Char,
  CHUNKED,
  CLOSE,
  CONNECTION,
  CONTENT_LENGTH,
  CONTINUE,
  EXPECT,
  HOST,
  KEEP_ALIVE,
  ODD_NAME,
  PROXY_CONNECTION,
  rangeIs,
  startsIgnoreCase,
  TE,
  TOKEN,
  TRANSFER_ENCODING,
  UPGRADE,
} from './characters.js';
import { findField } from './fields.js';
import { FieldKind, MAX_CONNECTION_OPTIONS, type HeadLimits, type MessageHead } from './message-head.js';

/**
 * Reads the field lines of `head.text`, which was just reset, from `head.fieldsStart` to the empty line that ends it, and their meaning for
 * framing and the connection. Returns 0, or the status to reject a request with.
 *
 * A line that begins with white space (obs-fold) has an empty name, white space before the colon is not a token, and a CR that is not part
 * of a CRLF is not a value: all are rejected here without a rule of their own. At an LF alone parsing stops (`head.bareLf`).
 *
 * @param names characters of names; fields with other names are dropped, or rejected if it is TOKEN
 */
export function parseFields(head: MessageHead, limits: HeadLimits, names: Uint8Array): number {
  const { bytes, words } = head;
  const { field: longest } = limits;
  const most = limits.fields + head.uncounted;
  let at = head.fieldsStart;
  for (;;) {
    const nameStart = at;
    let c = bytes[at] as number;
    if (c === Char.CR) break;
    while (names[c] === 1) c = bytes[++at] as number;
    const dropped = ODD_NAME[c] === 1 && names !== TOKEN;
    if (dropped) while (ODD_NAME[c] === 1) c = bytes[++at] as number;
    const nameEnd = at;
    if (c !== Char.COLON || nameEnd === nameStart) return head.refuseAt(nameStart, 'invalid header line');
    do c = bytes[++at] as number;
    while (c === Char.SP || c === Char.HTAB);
    const valueStart = at;
    while (c >= Char.SP ? c !== Char.DEL : c === Char.HTAB) {
      if ((++at & 3) === 0) at = skipPlain(words, at);
      c = bytes[at] as number;
    }
    if (c !== Char.CR || bytes[at + 1] !== Char.LF) return head.refuseAt(at, 'invalid header line');
    const valueEnd = trimEnd(bytes, valueStart, at);
    at += 2;
    if (at - nameStart > longest) return head.refuseLarge('too long header line');
    if (dropped) {
      head.gaps = true;
      continue;
    }
    if (head.count === most) return head.refuseLarge('too many header lines');
    addField(head, nameStart, nameEnd, valueStart, valueEnd);
    if (KNOWN_LENGTHS[nameEnd - nameStart] !== 1) continue;
    const status = noteField(head, nameStart, nameEnd, valueStart, valueEnd);
    if (status !== 0) return status;
  }
  if (at + 2 !== head.text.length || bytes[at + 1] !== Char.LF) return head.refuse(400, 'invalid header line');
  head.end = at + 2;
  return concludeFraming(head);
}

/** Skips words of four bytes that are all from SP to `~`. Four bytes are tested at once: the high bit of each says whether it is outside. */
function skipPlain(words: Int32Array, at: number): number {
  let index = at >> 2;
  let word = words[index] as number;
  while ((((word - 0x20202020) | (word + 0x01010101) | word) & 0x80808080) === 0) word = words[++index] as number;
  return index << 2;
}

function trimEnd(bytes: Uint8Array, start: number, end: number): number {
  while (end > start) {
    const c = bytes[end - 1];
    if (c !== Char.SP && c !== Char.HTAB) break;
    end--;
  }
  return end;
}

function addField(head: MessageHead, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
  if (head.count === head.kinds.length) head.grow();
  const { fields, count } = head;
  const slot = count << 2;
  fields[slot] = nameStart;
  fields[slot + 1] = nameEnd;
  fields[slot + 2] = valueStart;
  fields[slot + 3] = valueEnd;
  head.kinds[count] = FieldKind.Ordinary;
  head.count = count + 1;
}

/** Further fields of which nginx takes one in a request: of two, one recipient takes the first, another the last. */
const SINGLE = new Set([
  'authorization',
  'content-range',
  'expect',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
]);

/** Lengths of the names that {@link noteField} knows. */
const KNOWN_LENGTHS = new Uint8Array(32);
for (const name of [TE, HOST, EXPECT, UPGRADE, CONNECTION, CONTENT_LENGTH, PROXY_CONNECTION, TRANSFER_ENCODING, ...SINGLE])
  KNOWN_LENGTHS[name.length] = 1;

/** Notes what the last field added means to this hop. The length of the name decides most of it. */
function noteField(head: MessageHead, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): number {
  const { bytes } = head;
  switch (nameEnd - nameStart) {
    case 2:
      if (startsIgnoreCase(bytes, nameStart, TE)) setKind(head, FieldKind.Hop);
      return 0;
    case 4:
      if (startsIgnoreCase(bytes, nameStart, HOST)) return noteHost(head);
      return 0;
    case 6:
      if (!startsIgnoreCase(bytes, nameStart, EXPECT)) return 0;
      head.expectContinue = rangeIs(bytes, valueStart, valueEnd, CONTINUE);
      return noteSingle(head, nameStart, nameEnd);
    case 7:
      if (!startsIgnoreCase(bytes, nameStart, UPGRADE)) return 0;
      head.upgradeField = true;
      setKind(head, FieldKind.Hop);
      return 0;
    case 8:
    case 13:
    case 19:
      return noteSingle(head, nameStart, nameEnd);
    case 10:
      if (startsIgnoreCase(bytes, nameStart, CONNECTION)) return noteConnection(head, valueStart, valueEnd);
      if (startsIgnoreCase(bytes, nameStart, KEEP_ALIVE)) setKind(head, FieldKind.Hop);
      return 0;
    case 14:
      if (startsIgnoreCase(bytes, nameStart, CONTENT_LENGTH)) return noteContentLength(head, valueStart, valueEnd);
      return 0;
    case 16:
      if (startsIgnoreCase(bytes, nameStart, PROXY_CONNECTION)) setKind(head, FieldKind.Hop);
      return 0;
    case 17:
      if (startsIgnoreCase(bytes, nameStart, TRANSFER_ENCODING)) return noteTransferEncoding(head, valueStart, valueEnd);
      return noteSingle(head, nameStart, nameEnd);
    default:
      return 0;
  }
}

function setKind(head: MessageHead, kind: number): void {
  head.kinds[head.count - 1] = kind;
}

/** Nearly always the first name with its initial: only a second one is looked at. */
function noteSingle(head: MessageHead, nameStart: number, nameEnd: number): number {
  const initial = 1 << ((head.bytes[nameStart] as number) & 31);
  if ((head.initials & initial) === 0) {
    head.initials |= initial;
    return 0;
  }
  const name = head.text.slice(nameStart, nameEnd);
  const lowerName = name.toLowerCase();
  if (head.sender !== 'client' || !SINGLE.has(lowerName)) return 0;
  return findField(head.text, head.fields, head.count - 1, lowerName) < 0 ? 0 : head.refuse(400, `duplicate header line "${name}"`);
}

function noteHost(head: MessageHead): number {
  if (head.hostField >= 0) return head.refuse(400, 'duplicate header line "Host"');
  head.hostField = head.count - 1;
  setKind(head, FieldKind.Host);
  return 0;
}

/** A length is one run of decimal digits (RFC 9112, 6.3), appears once, and can be counted without rounding. */
function noteContentLength(head: MessageHead, start: number, end: number): number {
  if (head.contentLength >= 0) return head.refuse(400, 'duplicate header line "Content-Length"');
  if (start === end) return head.refuse(400, 'invalid "Content-Length" header');
  let length = 0;
  for (let at = start; at < end; at++) {
    const digit = (head.bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return head.refuse(400, 'invalid "Content-Length" header');
    length = length * 10 + digit;
    if (length > Number.MAX_SAFE_INTEGER) return head.refuse(400, 'invalid "Content-Length" header');
  }
  head.contentLength = length;
  setKind(head, FieldKind.ContentLength);
  return 0;
}

const OTHER_CODING = /\r\ntransfer-encoding[ \t]*:/i;

/** The only coding this hop takes is `chunked`, alone (as nginx since 1.21.1). */
function noteTransferEncoding(head: MessageHead, start: number, end: number): number {
  if (head.chunked) return head.refuse(400, 'duplicate header line "Transfer-Encoding"');
  if (!rangeIs(head.bytes, start, end, CHUNKED)) {
    // Of two fields, one recipient takes the first, another the last.
    const isOne = !OTHER_CODING.test(head.text.slice(end));
    return isOne ? head.refuse(501, 'unknown "Transfer-Encoding"') : head.refuse(400, 'duplicate header line "Transfer-Encoding"');
  }
  if (tabFollows(head.bytes, end)) return head.refuse(400, 'invalid "Transfer-Encoding" header');
  head.chunked = true;
  setKind(head, FieldKind.Hop);
  return 0;
}

/**
 * A tab after the value is allowed white space, yet hides the coding from llhttp and other parsers that trim spaces only. No honest client
 * sends it.
 */
function tabFollows(bytes: Uint8Array, at: number): boolean {
  while (bytes[at] === Char.SP) at++;
  return bytes[at] === Char.HTAB;
}

function noteConnection(head: MessageHead, start: number, end: number): number {
  setKind(head, FieldKind.Connection);
  const { bytes } = head;
  let at = start;
  while (at < end) {
    let stop = at;
    while (stop < end && bytes[stop] !== Char.COMMA) stop++;
    while (at < stop && (bytes[at] === Char.SP || bytes[at] === Char.HTAB)) at++;
    const optionEnd = trimEnd(bytes, at, stop);
    if (optionEnd > at && !noteOption(head, at, optionEnd)) return head.refuse(400, 'too many options in "Connection" header');
    at = stop + 1;
  }
  return 0;
}

/** False if there are too many options. */
function noteOption(head: MessageHead, start: number, end: number): boolean {
  const { bytes } = head;
  if (rangeIs(bytes, start, end, KEEP_ALIVE)) head.optionKeepAlive = true;
  else if (rangeIs(bytes, start, end, CLOSE)) head.optionClose = true;
  else if (rangeIs(bytes, start, end, UPGRADE)) head.optionUpgrade = true;
  else {
    if (head.optionCount === MAX_CONNECTION_OPTIONS) return false;
    head.options[2 * head.optionCount] = start;
    head.options[2 * head.optionCount + 1] = end;
    head.optionCount++;
  }
  return true;
}

function concludeFraming(head: MessageHead): number {
  if (head.chunked) {
    if (head.contentLength >= 0) return head.refuse(400, '"Content-Length" and "Transfer-Encoding" headers at the same time');
    if (head.minor === 0) return head.refuse(400, 'HTTP/1.0 message with "Transfer-Encoding" header');
  }
  head.keepAlive = !head.optionClose && (head.minor === 1 || head.optionKeepAlive);
  // RFC 9110, 7.8 and 10.1.1: Upgrade and Expect mean nothing in HTTP/1.0.
  head.upgrade = head.minor === 1 && head.optionUpgrade && head.upgradeField;
  if (head.minor === 0) head.expectContinue = false;
  return 0;
}
