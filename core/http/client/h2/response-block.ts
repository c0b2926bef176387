import { OwnField } from '../../request/context.js';
import type { Request } from '../../request/request.js';

/** Lines that mean something on a connection of HTTP/1 only (RFC 9113, 8.2.2). */
const CONNECTION_LINE = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade):/i;

/** The encoded header block of a response, its fields in the order of nginx. */
export function responseBlock(request: Request): string {
  const { response, context, ownFields } = request;
  const { hpack } = context;
  let block = hpack.status(request.status);
  if ((ownFields & OwnField.Server) !== 0) block += hpack.line(`server: ${request.location.settings.serverToken}`);
  if ((ownFields & OwnField.Date) !== 0) block += hpack.line(`date: ${context.clock.httpDate()}`);
  block += lineOf(response.contentType);
  if (response.length >= 0 && (request.sendsBody || request.method === 'HEAD')) block += hpack.line(`content-length: ${response.length}`);
  block += lineOf(response.lastModified) + lineOf(response.location);
  const { text } = response;
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\r\n', from);
    const line = text.slice(from, end);
    if (!CONNECTION_LINE.test(line)) block += hpack.line(line);
    from = end + 2;
  }
  return block;

  function lineOf(line: string): string {
    return line === '' ? '' : hpack.line(line.slice(0, -2));
  }
}
