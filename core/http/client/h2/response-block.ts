import type { HpackEncoder } from '../../../net/http2/hpack-encoder.js';
import { takeTrailers } from '../../response/trailers.js';
import type { Request } from '../../request/request.js';

/** Lines that mean something on a connection of HTTP/1 only (RFC 9113, 8.2.2). */
const CONNECTION_LINE = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade):/i;
/** Their beginning, in lower case: most lines differ. */
const FIRST_LETTERS = 'ckptu';

/** The encoded trailers of a response; empty: it has none. */
export function trailerBlock(request: Request): string {
  return linesBlock(takeTrailers(request), request.context.hpack);
}

/** The encoded header block of an interim response. @param status with its reason */
export function interimBlock(status: string, lines: string, hpack: HpackEncoder): string {
  return hpack.status(Number.parseInt(status, 10)) + linesBlock(lines, hpack);
}

/** The encoded header block of a response, its fields in the order of nginx. */
export function responseBlock(request: Request): string {
  const { response, context } = request;
  const { hpack } = context;
  const { contentType, lastModified, location, length, text } = response;
  let block = hpack.status(request.status) + hpack.recent(context.commonFields(request.location.settings.serverToken, request.ownFields));
  if (contentType !== '') block += hpack.line(contentType);
  if (length >= 0 && (request.sendsBody || request.method === 'HEAD')) block += hpack.contentLength(length);
  if (lastModified !== '') block += hpack.line(lastModified);
  if (location !== '') block += hpack.line(location);
  return block + linesBlock(text, hpack);
}

function linesBlock(text: string, hpack: HpackEncoder): string {
  let block = '';
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\r\n', from) + 2;
    const line = text.slice(from, end);
    if (!isConnectionLine(line)) block += hpack.line(line);
    from = end;
  }
  return block;
}

function isConnectionLine(line: string): boolean {
  return FIRST_LETTERS.includes(String.fromCharCode(line.charCodeAt(0) | 0x20)) && CONNECTION_LINE.test(line);
}
