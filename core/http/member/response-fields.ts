import { nameBytes } from '../../net/http1/characters.js';
import { fieldName, fieldValue } from '../../net/http1/fields.js';
import { FieldKind } from '../../net/http1/message-head.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import type { Request } from '../request/request.js';

/** Fields of a member's response that have one value, or that tell the proxy what to do. */
export const enum MemberField {
  ContentType,
  LastModified,
  Location,
  ETag,
  Date,
  Server,
  Expires,
  AcceptRanges,
  ContentEncoding,
  /** From here on: for the proxy. */
  AccelExpires,
  AccelCharset,
  AccelRedirect,
  AccelBuffering,
  AccelLimitRate,
}

/** In the order of {@link MemberField}. */
const NAMES = [
  'content-type',
  'last-modified',
  'location',
  'etag',
  'date',
  'server',
  'expires',
  'accept-ranges',
  'content-encoding',
  'x-accel-expires',
  'x-accel-charset',
  'x-accel-redirect',
  'x-accel-buffering',
  'x-accel-limit-rate',
];

/** Not one of a kind, but for proxy_redirect, as Location is. */
const REFRESH = nameBytes('refresh');

interface KnownName {
  readonly field: number;
  readonly bytes: Uint8Array;
}

/** By length: nearly all fields of most responses are distinguished by it. */
const KNOWN: readonly (readonly KnownName[])[] = Array.from({ length: 1 + Math.max(...NAMES.map(({ length }) => length)) }, (_, length) =>
  NAMES.flatMap((name, field) => (name.length === length ? [{ field, bytes: nameBytes(name) }] : [])),
);

/** True if a token of the same length is that name. In names of letters and hyphens the case is one bit. */
function isName(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) if (((bytes[start + i] as number) | 0x20) !== name[i]) return false;
  return true;
}

/** Where the fields of {@link MemberField} are in a member's head: found in one pass. A scratch object, valid as long as the head is. */
export class ResponseFields {
  /** By MemberField, the index of the first field line of that name; -1: none. */
  readonly #at = new Int32Array(NAMES.length).fill(-1);
  /** There are X-Accel fields. */
  hasAccel = false;
  /** There is something for proxy_redirect. */
  hasRedirect = false;
  /** Indices of field lines that are not passed on because one of that name came before, each followed by the index of that one. */
  readonly repeats: number[] = [];

  /** Finds the fields. Of one that came twice the first counts, and the others are not passed on (as in nginx since 1.23). */
  read(head: ResponseHead): void {
    const at = this.#at;
    if (this.repeats.length > 0) this.repeats.length = 0;
    const { fields, count, bytes } = head;
    at.fill(-1);
    this.hasAccel = this.hasRedirect = false;
    for (let i = 0, slot = 0; i < count; i++, slot += 4) {
      const start = fields[slot] as number;
      const length = (fields[slot + 1] as number) - start;
      if (length >= KNOWN.length) continue;
      if (length === REFRESH.length && isName(bytes, start, REFRESH)) this.hasRedirect = true;
      const known = KNOWN[length] as readonly KnownName[];
      for (let k = 0; k < known.length; k++) {
        const name = known[k] as KnownName;
        if (isName(bytes, start, name.bytes)) this.#found(head, name.field, i);
      }
    }
  }

  /** Its value; undefined: there is no such field. */
  value(head: ResponseHead, field: MemberField): string | undefined {
    const at = this.#at[field] as number;
    return at < 0 ? undefined : fieldValue(head.text, head.fields, at);
  }

  /** The field line with its CRLF: a range of the head. Empty: there is no such field. */
  line({ text, fields, count, end, gaps }: ResponseHead, field: MemberField): string {
    const at = this.#at[field] as number;
    if (at < 0) return '';
    const start = fields[4 * at] as number;
    if (gaps) return `${text.slice(start, fields[4 * at + 3])}\r\n`;
    return text.slice(start, at + 1 < count ? fields[4 * at + 4] : end - 2);
  }

  logRepeats({ text, fields }: ResponseHead, request: Request): void {
    if (this.repeats.length === 0) return;
    const line = (index = 0): string => `${fieldName(text, fields, index)}: ${fieldValue(text, fields, index)}`;
    for (let at = 0; at < this.repeats.length; at += 2) {
      const [repeat, first] = this.repeats.slice(at);
      const what = `upstream sent duplicate header line: "${line(repeat)}", previous value: "${line(first)}", ignored`;
      request.context.log.write('warn', `${what} while reading response header from upstream`, request);
    }
  }

  #found(head: ResponseHead, field: number, index: number): void {
    const first = this.#at[field] as number;
    if (first >= 0) {
      head.kinds[index] = FieldKind.Hop;
      this.repeats.push(index, first);
      return;
    }
    this.#at[field] = index;
    if (field === MemberField.Location) this.hasRedirect = true;
    else if (field >= MemberField.AccelExpires) this.hasAccel = true;
  }
}
