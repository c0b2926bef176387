/** Parts of responses (RFC 9111, 3.3 and 3.4; RFC 9110, 14). */
import { MalformedBody, type BodySource, type HttpRequest, type MemberResponse } from '../../../core/contract/http.js';
import type { EntryFile, StoredHead } from '../entry-file.js';

/** Bytes from `start` to before `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A span of a body of so many bytes. */
export interface Part extends ByteSpan {
  readonly total: number;
}

const CONTENT_RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i;
const CONTENT_RANGE_LINE = /\r\ncontent-range:[ \t]*([^\r]*)/i;
const COPIED_AT_ONCE = 65_536;

/** Undefined: it is malformed, or the length of the whole is unknown. */
export function parseContentRange(value: string | undefined): Part | undefined {
  const [, first, last, length] = CONTENT_RANGE.exec(value ?? '') ?? [];
  const [start, end, total] = [Number(first), Number(last) + 1, Number(length)];
  return first !== undefined && start < end && end <= total ? { start, end, total } : undefined;
}

/** The part that a 206 has. `invalid`: it does not say so, or another one than its length. */
export function parsePart(response: Pick<MemberResponse, 'length' | 'header'>): Part | 'invalid' {
  const part = parseContentRange(response.header('content-range'));
  return part !== undefined && (response.length < 0 || response.length === part.end - part.start) ? part : 'invalid';
}

/** The part of the body that is stored; undefined: the whole. `invalid`: it was cut off. */
export function storedPart({ head, bodyLength }: StoredHead): Part | 'invalid' | undefined {
  if (!head.startsWith('HTTP/1.1 206')) return undefined;
  const part = parseContentRange(CONTENT_RANGE_LINE.exec(head)?.[1]);
  return part !== undefined && part.end - part.start === bodyLength ? part : 'invalid';
}

/** True if a Range field asks for one range of bytes. */
export function isSingleRange(field: string | undefined): field is string {
  return field !== undefined && /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/i.test(field);
}

/** The span of a body that a single range is about. Undefined: none. @param field undefined: the whole */
export function wantedSpan(field: string | undefined, total: number): ByteSpan | undefined {
  if (!isSingleRange(field)) return { start: 0, end: total };
  const [first = '', last = ''] = field.slice('bytes='.length).split('-');
  const start = first === '' ? Math.max(0, total - Number(last)) : Number(first);
  const end = first === '' || last === '' ? total : Math.min(total, Number(last) + 1);
  return start < end ? { start, end } : undefined;
}

/** The range that a request is for, of what is stored. Undefined: the whole, also if the client has a part of another body. */
export function rangeFor(request: HttpRequest, { etag }: StoredHead): string | undefined {
  const condition = request.header('if-range');
  if (request.method !== 'GET' || (condition !== undefined && (condition !== etag || !isStrong(etag)))) return undefined;
  return request.header('range');
}

export function contains(outer: ByteSpan, inner: ByteSpan): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** The one span that is missing for another one. Undefined: more than one is, or it leaves a gap. */
export function missingSpan(has: ByteSpan, wanted: ByteSpan): ByteSpan | undefined {
  if (has.start <= wanted.start && wanted.start <= has.end && has.end < wanted.end) return { start: has.end, end: wanted.end };
  if (wanted.start < has.start && has.start <= wanted.end && wanted.end <= has.end) return { start: wanted.start, end: has.start };
  return undefined;
}

/** Both without a gap. Undefined: there is one. */
export function union(one: ByteSpan, other: ByteSpan): ByteSpan | undefined {
  if (one.end < other.start || other.end < one.start) return undefined;
  return { start: Math.min(one.start, other.start), end: Math.max(one.end, other.end) };
}

/** True for a tag that two parts have only if they are of the same bytes (RFC 9110, 8.8.1). */
export function isStrong(etag: string): boolean {
  return /^"[^"]*"$/.test(etag);
}

/** The head of a response with another part of its body, or all of it. */
function headOfPart(head: string, { start, end, total }: Part, becomesWhole: boolean): string {
  const line = becomesWhole ? '' : `\r\nContent-Range: bytes ${start}-${end - 1}/${total}`;
  const text = head.replace(CONTENT_RANGE_LINE, () => line);
  return becomesWhole ? text.replace('HTTP/1.1 206', 'HTTP/1.1 200') : text;
}

/** The bytes of a span, of which a file has a part that contains it. Closes the file. */
class Slice implements BodySource {
  readonly #offset: number;

  constructor(
    private readonly file: EntryFile,
    part: ByteSpan,
    private readonly span: ByteSpan,
  ) {
    this.#offset = span.start - part.start;
  }

  get length(): number {
    return this.span.end - this.span.start;
  }

  get descriptor(): number {
    return this.file.descriptor;
  }

  get descriptorStart(): number {
    return this.file.descriptorStart + this.#offset;
  }

  read(into: Buffer, offset: number): number | Promise<number> {
    const room = Math.min(into.length, this.length - offset);
    return room <= 0 ? 0 : this.file.read(into.subarray(0, room), this.#offset + offset);
  }

  close(): void {
    this.file.close();
  }
}

/** Head and body of the bytes that a client wants of a stored response. */
export function cut(
  stored: StoredHead,
  file: EntryFile,
  wanted: ByteSpan | undefined,
): { readonly stored: StoredHead; readonly body: BodySource } {
  const part = wanted && storedPart(stored);
  if (wanted === undefined || part === undefined || part === 'invalid') return { stored, body: file };
  return { stored: { ...stored, head: headOfPart(stored.head, { ...part, ...wanted }, false) }, body: new Slice(file, part, wanted) };
}

/** Bytes of the body of a file, which stays open. */
export async function* bytesOf(file: EntryFile, from = 0, to = file.length): AsyncIterableIterator<Buffer> {
  for (let at = from; at < to;) {
    const piece = Buffer.allocUnsafe(Math.min(COPIED_AT_ONCE, to - at));
    const count = await file.read(piece, at);
    if (count === 0) throw new Error('the file has become shorter');
    at += count;
    yield piece.subarray(0, count);
  }
}

/** A response as it is stored. */
interface Storable {
  readonly head: string;
  readonly body: AsyncIterable<Buffer>;
}

/** @throws MalformedBody if there are more or fewer bytes */
async function* exactly(body: AsyncIterable<Buffer>, length: number): AsyncIterableIterator<Buffer> {
  let count = 0;
  for await (const piece of body) {
    count += piece.length;
    if (count > length) break;
    yield piece;
  }
  if (count !== length) throw new MalformedBody('the part has another length than its Content-Range says');
}

/** A new part, joined with the stored one if they are of the same bytes, and without a gap. The file is read with the body. */
export function join(
  file: EntryFile | undefined,
  part: Part,
  { head, etag }: Pick<StoredHead, 'head' | 'etag'>,
  received: AsyncIterable<Buffer>,
): Storable {
  const body = exactly(received, part.end - part.start);
  const has = file && storedPart(file.stored);
  const both = has === undefined || has === 'invalid' ? undefined : union(has, part);
  if (
    file === undefined ||
    has === undefined ||
    has === 'invalid' ||
    both === undefined ||
    has.total !== part.total ||
    etag !== file.stored.etag ||
    !isStrong(etag)
  )
    return { head: headOfPart(head, part, isWhole(part)), body };
  const joined = { ...part, ...both };
  return { head: headOfPart(head, joined, isWhole(joined)), body: joinedBytes(file, has, part, body) };
}

function isWhole({ start, end, total }: Part): boolean {
  return start === 0 && end === total;
}

async function* joinedBytes(file: EntryFile, has: ByteSpan, news: ByteSpan, body: AsyncIterable<Buffer>): AsyncIterableIterator<Buffer> {
  if (has.start < news.start) yield* bytesOf(file, 0, news.start - has.start);
  yield* body;
  if (news.end < has.end) yield* bytesOf(file, news.end - has.start);
}
