import { nameBytes, startsIgnoreCase } from '../../net/http1/characters.js';
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

/** By length. */
const KNOWN: (readonly KnownName[] | undefined)[] = [];
for (const [field, name] of NAMES.entries()) KNOWN[name.length] = [...(KNOWN[name.length] ?? []), { field, bytes: nameBytes(name) }];

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
    this.repeats.length = 0;
    const { fields, count, bytes } = head;
    at.fill(-1);
    this.hasAccel = this.hasRedirect = false;
    for (let i = 0, slot = 0; i < count; i++, slot += 4) {
      const start = fields[slot] as number;
      const length = (fields[slot + 1] as number) - start;
      const known = KNOWN[length];
      if (known === undefined) continue;
      if (length === REFRESH.length && startsIgnoreCase(bytes, start, REFRESH)) this.hasRedirect = true;
      for (const name of known) {
        if (!startsIgnoreCase(bytes, start, name.bytes)) continue;
        const first = at[name.field] as number;
        if (first < 0) at[name.field] = i;
        else {
          head.kinds[i] = FieldKind.Hop;
          this.repeats.push(i, first);
        }
        break;
      }
    }
    this.hasRedirect ||= this.#has(MemberField.Location);
    for (let field: number = MemberField.AccelExpires; field < NAMES.length; field++) this.hasAccel ||= this.#has(field);
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

  #has(field: number): boolean {
    return (this.#at[field] as number) >= 0;
  }
}
