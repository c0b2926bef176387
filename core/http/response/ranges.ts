/** The stage of the response path that sends parts of a body: which ranges a request gets (RFC 9110, 14), by nginx's rules. */
import { parseHttpDate } from '../../contract/http-date.js';
import type { BodyPart, ByteRange } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { RangeCutter } from './range-cutter.js';

const ACCEPTED = 'Accept-Ranges: bytes\r\n';

/** True if the request asks for ranges of a response that allows them. */
export function asksForRanges(request: Request): boolean {
  const { response, method } = request;
  return response.allowsRanges && (method === 'GET' || method === 'HEAD') && request.header('range') !== undefined;
}

/**
 * Decides which ranges of a response are sent, when its fields and its length are final, and makes its head that of a 206.
 * @param asked see {@link asksForRanges}
 * @param isSeekable whether the ranges can be sent in any order; else they must come in the order of the body
 * @returns false: none of the ranges can be satisfied, the response is a 416
 */
export function applyRanges(request: Request, asked: boolean, isSeekable: boolean): boolean {
  const { response } = request;
  const { maxRanges } = request.location.settings;
  // The client did not request the page of an error, or the body of a subrequest.
  if (request.status !== 200 || request.errorStatus !== 0 || request.parent !== undefined) return true;
  if (response.length < 0 || maxRanges === 0) return true;
  const ranges = asked ? requestedRanges(request, response.length, maxRanges) : undefined;
  if (ranges === undefined || !(isSeekable || areInOrder(ranges))) {
    if (!/^accept-ranges:.*bytes/im.test(response.text)) response.appendLines(ACCEPTED);
    return true;
  }
  if (ranges.length === 0) return false;
  request.status = 206;
  request.statusLine = '';
  const { length } = response;
  const parts = ranges.length > 1 ? multipart(request, ranges, length) : ranges;
  if (ranges.length === 1 && ranges[0] !== undefined) response.append('Content-Range', contentRange(ranges[0], length));
  response.length = parts.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.end - part.start), 0);
  request.ranges = new RangeCutter(parts, length);
  return true;
}

/** Undefined: the whole body. Empty: none can be satisfied. */
function requestedRanges(request: Request, size: number, max: number): readonly ByteRange[] | undefined {
  const field = request.header('range') ?? '';
  if (!/^bytes=./is.test(field)) return undefined;
  const condition = request.header('if-range');
  if (condition !== undefined && !isSame(condition, request)) return undefined;
  return parse(field.slice('bytes='.length), size, max);
}

/** If-Range: only if the client has a part of this very body. A weak tag does not say so (RFC 9110, 13.1.5). */
function isSame(condition: string, { response }: Request): boolean {
  if (condition.endsWith('"')) return condition === response.get('ETag') && !condition.startsWith('W/');
  const modified = response.get('Last-Modified');
  return modified !== undefined && parseHttpDate(condition) === parseHttpDate(modified);
}

function parse(list: string, size: number, max: number): readonly ByteRange[] | undefined {
  const ranges: ByteRange[] = [];
  let total = 0;
  for (const text of list.split(',')) {
    const range = rangeOf(text, size);
    if (range === undefined) return [];
    if (range.start < range.end) {
      ranges.push(range);
      total += range.end - range.start;
      if (ranges.length > max) return undefined;
    } else if (range.start === 0) return undefined;
  }
  // More than all of it: the whole body is less.
  return total > size ? undefined : ranges;
}

/** Undefined: it is malformed. */
function rangeOf(text: string, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^ *(\d*) *- *(\d*) *$/.exec(text) ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return { start: Math.max(size - Number(last), 0), end: size };
  return { start: Number(first), end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

function areInOrder(ranges: readonly ByteRange[]): boolean {
  return ranges.every(({ start }, at) => start >= (ranges[at - 1]?.end ?? 0));
}

function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end - 1}/${size}`;
}

/** The body with several ranges (RFC 9110, 14.6). */
function multipart({ response }: Request, ranges: readonly ByteRange[], size: number): readonly BodyPart[] {
  const boundary = process.getBuiltinModule('node:crypto').randomBytes(10).toString('hex');
  const type = response.contentType;
  response.set('Content-Type', `multipart/byteranges; boundary=${boundary}`);
  const parts = ranges.flatMap((range): BodyPart[] => [
    Buffer.from(`\r\n--${boundary}\r\n${type}Content-Range: ${contentRange(range, size)}\r\n\r\n`, 'latin1'),
    range,
  ]);
  return [...parts, Buffer.from(`\r\n--${boundary}--\r\n`)];
}

/** Makes the head of a response, as it was before the header filters saw it, that of a 416. */
export function rejectRanges(request: Request, before: readonly string[], size: number): void {
  const { response } = request;
  response.restore(before);
  response.remove('Last-Modified');
  response.remove('ETag');
  response.remove('Content-Type');
  response.remove('Accept-Ranges');
  response.length = -1;
  response.append('Content-Range', `bytes */${size}`);
  request.status = 416;
  request.statusLine = '';
  request.isUnsatisfiable = true;
}
