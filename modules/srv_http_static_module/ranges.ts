/** Ranges of a file that a request asks for (RFC 9110, 14), by nginx's rules. */
import type { HttpRequest } from '../../core/module/http.js';
import { secondsOf, type Validators } from './conditions.js';

/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A piece of the body of a response: bytes of the file, or text around them. */
export type Part = ByteRange | Buffer;

/** Undefined: the whole file. Empty: none of it can be satisfied. @param max the most ranges of a request */
export function rangesOf(request: HttpRequest, size: number, file: Validators, max: number): readonly ByteRange[] | undefined {
  const field = request.header('range');
  if (field === undefined || max === 0 || !/^bytes=./is.test(field)) return undefined;
  const condition = request.header('if-range');
  if (condition !== undefined && !isSame(condition, file)) return undefined;
  return parse(field.slice('bytes='.length), size, max);
}

/** If-Range: only if the client has a part of this very file. */
function isSame(condition: string, { etag, modified }: Validators): boolean {
  return condition.endsWith('"') ? condition === etag : secondsOf(condition) === modified;
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
  // More than all of it: the whole file is less.
  return total > size ? undefined : ranges;
}

/** Undefined: it is malformed. */
function rangeOf(text: string, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^ *(\d*) *- *(\d*) *$/.exec(text) ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return { start: Math.max(size - Number(last), 0), end: size };
  return { start: Number(first), end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

export function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end - 1}/${size}`;
}

/** The body with several ranges (RFC 9110, 14.6). @param boundary a text that no file has */
export function multipart(ranges: readonly ByteRange[], size: number, type: string, boundary: string): readonly Part[] {
  const typeLine = type === '' ? '' : `Content-Type: ${type}\r\n`;
  const parts = ranges.flatMap((range): Part[] => [
    Buffer.from(`\r\n--${boundary}\r\n${typeLine}Content-Range: ${contentRange(range, size)}\r\n\r\n`, 'latin1'),
    range,
  ]);
  return [...parts, Buffer.from(`\r\n--${boundary}--\r\n`)];
}

export function lengthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.end - part.start), 0);
}
