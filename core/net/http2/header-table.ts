/** The tables of fields that HPACK refers to by number (RFC 7541, 2.3). */

/** A field of a table. */
export interface TableField {
  readonly name: string;
  readonly value: string;
}

/** Appendix A, from number 1 on. */
const STATIC_TEXT = `:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`;

const STATIC: readonly TableField[] = STATIC_TEXT.split('\n').map((line) => {
  const space = line.indexOf(' ');
  return space < 0 ? { name: line, value: '' } : { name: line.slice(0, space), value: line.slice(space + 1) };
});

/** Numbers up to this one are in the static table. */
export const STATIC_FIELDS = STATIC.length;
/** Numbers of names in the static table, the first of each. */
export const STATIC_NAMES: ReadonlyMap<string, number> = new Map(STATIC.map(({ name }, at) => [name, at + 1] as const).toReversed());
/** Numbers of the statuses in the static table. */
export const STATIC_STATUSES: ReadonlyMap<number, number> = new Map(
  STATIC.flatMap(({ name, value }, at) => (name === ':status' ? [[Number(value), at + 1] as const] : [])),
);

/** Size of a field beyond its characters (RFC 7541, 4.1). */
const OVERHEAD = 32;

/** The static table and, after it, the fields that one side has added, newest first. */
export class HeaderTable {
  /** Oldest first; those before `#oldest` are gone. */
  #fields: TableField[] = [];
  #oldest = 0;
  #size = 0;

  constructor(private maxSize: number) {}

  /** The field with that number; undefined if there is none. */
  field(number: number): TableField | undefined {
    if (number <= STATIC.length) return STATIC[number - 1];
    const at = this.#fields.length - (number - STATIC.length);
    return at < this.#oldest ? undefined : this.#fields[at];
  }

  add(field: TableField): void {
    this.#fields.push(field);
    this.#size += sizeOf(field);
    this.#evict();
  }

  /** Changes the room there is, in bytes. */
  resize(maxSize: number): void {
    this.maxSize = maxSize;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.maxSize) {
      const field = this.#fields[this.#oldest++];
      if (field === undefined) break;
      this.#size -= sizeOf(field);
    }
    // The array is shortened once in a while: each field moves only once for that.
    if (this.#oldest > 64 && this.#oldest > this.#fields.length / 2) {
      this.#fields = this.#fields.slice(this.#oldest);
      this.#oldest = 0;
    }
  }
}

const sizeOf = ({ name, value }: TableField): number => name.length + value.length + OVERHEAD;
