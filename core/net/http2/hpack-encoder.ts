import { STATIC_NAMES, STATIC_STATUSES } from './header-table.js';

/** Encoded lines kept for the next response. */
const CACHED_LINES = 512;
/** Longer ones are seldom the same twice. */
const CACHED_LENGTH = 128;

/**
 * Encodes fields as strings of bytes (latin1). Nothing enters the dynamic table of the other side: what repeats is kept here in its encoded
 * form instead, for all connections of the thread.
 */
export class HpackEncoder {
  readonly #lines = new Map<string, string>();
  #recentText = '';
  #recentBlock = '';

  status(status: number): string {
    const known = STATIC_STATUSES.get(status);
    if (known !== undefined) return String.fromCharCode(0x80 | known);
    return `\x08\x03${String(status).padStart(3, '0')}`;
  }

  /** Lines of an HTTP/1 head, each with its CRLF, that are mostly the same as those of the last call. */
  recent(text: string): string {
    if (text === this.#recentText) return this.#recentBlock;
    this.#recentText = text;
    this.#recentBlock = text
      .split(/(?<=\n)/)
      .map((line) => (line === '' ? '' : encodeLine(line)))
      .join('');
    return this.#recentBlock;
  }

  contentLength(length: number): string {
    return CONTENT_LENGTH + stringLiteral(String(length));
  }

  /** A field of an HTTP/1 head, `Name: value`, with its CRLF. */
  line(line: string): string {
    if (line.length > CACHED_LENGTH) return encodeLine(line);
    const known = this.#lines.get(line);
    if (known !== undefined) return known;
    const encoded = encodeLine(line);
    if (this.#lines.size >= CACHED_LINES) this.#lines.clear();
    this.#lines.set(line, encoded);
    return encoded;
  }
}

const CONTENT_LENGTH = number(STATIC_NAMES.get('content-length') as number, 4);

/** Characters around a value: other characters that `trim` removes are bytes of it. */
const OUTER_BLANKS = /^[ \t]+|[ \t\r\n]+$/g;

function encodeLine(line: string): string {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon).toLowerCase();
  const value = line.slice(colon + 1).replaceAll(OUTER_BLANKS, '');
  const index = STATIC_NAMES.get(name);
  const head = index === undefined ? `\0${stringLiteral(name)}` : number(index, 4);
  return head + stringLiteral(value);
}

/** A string as it is: Huffman codes would save bytes and cost time. */
export const stringLiteral = (value: string): string => number(value.length, 7) + value;

/** An integer in the last `bits` bits of its first byte, the others zero (RFC 7541, 5.1). */
function number(value: number, bits: number): string {
  const mask = (1 << bits) - 1;
  if (value < mask) return String.fromCharCode(value);
  let encoded = String.fromCharCode(mask);
  let rest = value - mask;
  for (; rest >= 128; rest >>= 7) encoded += String.fromCharCode((rest & 127) | 128);
  return encoded + String.fromCharCode(rest);
}
