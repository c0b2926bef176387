/** The heads of members' responses, out of bytes. */
import { parseFound } from '../../../../net/http1/head-end.js';
import { HEAD_TOO_LARGE, type HeadLimits } from '../../../../net/http1/message-head.js';
import { parseResponseHead } from '../../../../net/http1/response-head.js';
import type { HttpContext } from '../../../request/context.js';

/**
 * Parses the head that begins at an offset into the scratch of the context.
 * @returns the offset after it; 0: more bytes are needed; -1: it is malformed
 */
export function parseHead(context: HttpContext, bytes: Buffer, from: number, limits: HeadLimits): number {
  const { responseEnd, responseHead: head } = context;
  responseEnd.reset();
  const end = from < bytes.length ? responseEnd.find(bytes, from, limits) : 0;
  if (end === 0) return 0;
  if (end < 0) {
    head.forget();
    return -1;
  }
  return parseFound(responseEnd, bytes, from, end, limits, head, parseResponseHead) === 0 ? responseEnd.end : -1;
}

/** For the log: why a head is malformed. */
export function headFailure({ responseEnd: { code }, responseHead: { reason } }: HttpContext): string {
  if (code === HEAD_TOO_LARGE || code === 414) return 'upstream sent too big header while reading response header from upstream';
  const why = reason === '' ? '' : ` (${reason})`;
  return `upstream sent invalid header while reading response header from upstream${why}`;
}
