import type { Request } from '../../request/request.js';
import { isBodiless, statusText } from '../../request/status.js';

/**
 * The head of a response as HTTP/1 sends it, with its framing and persistence, in the order of nginx.
 * @param mayKeepAlive whether the connection could serve another request
 */
export function headText(request: Request, mayKeepAlive: boolean): string {
  const { location, response, status, context } = request;
  const framing = framingOf(request);
  if (!mayKeepAlive) request.keepAlive = false;
  const { settings } = location;
  const persistence = status === 101 || request.opensTunnel ? '' : request.keepAlive ? settings.keepAliveFields : 'Connection: close\r\n';
  const common = context.commonFields(settings.serverToken, request.ownFields);
  const line = request.statusLine !== '' ? request.statusLine : statusText(status);
  const { contentType, lastModified, location: target } = response;
  const start = `HTTP/1.1 ${line}\r\n${common}${contentType}`;
  // A length leads, and a coding follows, as with nginx.
  const leading = request.chunked ? lastModified + target + framing : framing + lastModified + target;
  return `${start}${leading}${persistence}${response.text}\r\n`;
}

/** How the client finds the end of the body (RFC 9112, 6). */
function framingOf(request: Request): string {
  const { length, hasTrailers } = request.response;
  request.sentLength = -1;
  const isChunked = request.minor === 1 && request.sendsBody && request.location.settings.chunkedTransferEncoding;
  if (length >= 0 && !(hasTrailers && isChunked)) {
    // A 304 may tell the length that a 200 would have (RFC 9110, 8.6).
    if (isBodiless(request.status) && (request.status !== 304 || length === 0)) return '';
    request.sentLength = length;
    return `Content-Length: ${length}\r\n`;
  }
  if (!request.sendsBody) return '';
  if (isChunked) {
    request.chunked = true;
    return 'Transfer-Encoding: chunked\r\n';
  }
  request.keepAlive = false;
  return '';
}
