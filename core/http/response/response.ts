import { filterBody, filterHeader } from './filters.js';
import type { Request } from '../request/request.js';
import { isBodiless, publicStatus, specialPage, statusText } from '../request/status.js';

/** Up to here head and body leave as one string: it is copied once, by the system call's own buffer. */
const JOINED_LIMIT = 16_384;
/** A known length that was never told. */
export const UNKNOWN_LENGTH = -1;

/**
 * Runs the header filters and makes the head of the answer.
 * @param length bytes of the body, or UNKNOWN_LENGTH.
 * @returns the empty string if a filter threw: then {@link sendFailure} is all that can be done.
 */
export function makeHead(request: Request, length: number, contentType?: string): string {
  const { location, connection, response } = request;
  if (request.errorStatus !== 0) {
    request.status = request.errorStatus;
    request.statusLine = '';
  }
  if (contentType !== undefined && contentType !== '' && request.status !== 204) response.append('Content-Type', contentType);
  const { status: before } = request;
  if (!request.unfiltered && !filterHeader(request)) return '';
  const status = publicStatus(request.status);
  request.status = status;
  request.headSent = true;
  const bodiless = isBodiless(status);
  request.sendsBody = !bodiless && request.method !== 'HEAD';
  let framing = '';
  // A 304 may tell the length that a 200 would have (RFC 9110, 8.6).
  if (length >= 0) framing = bodiless && (status !== 304 || length === 0) ? '' : `Content-Length: ${length}\r\n`;
  else if (!request.sendsBody) framing = '';
  else if (request.minor === 1 && location.settings.chunkedTransferEncoding) {
    framing = 'Transfer-Encoding: chunked\r\n';
    request.chunked = true;
  } else request.keepAlive = false;
  if (request.keepAlive) request.keepAlive = connection.mayKeepAlive(request);
  request.answerLength = framing === '' ? UNKNOWN_LENGTH : length;
  const persistence = status === 101 ? '' : request.keepAlive ? location.settings.keepAliveFields : 'Connection: close\r\n';
  const common = connection.context.commonFields(location.settings.serverToken, request.ownFields);
  const line = request.statusLine !== '' && status === before ? request.statusLine : statusText(status);
  const head = `HTTP/1.1 ${line}\r\n${common}${framing}${persistence}${response.text}\r\n`;
  request.headBytes = head.length;
  return head;
}

/** Sends a complete answer and finishes the request. */
export function sendWhole(request: Request, body: Buffer, contentType?: string): void {
  const bytes = request.unfiltered ? body : filterBody(request, body, true);
  const head = bytes === undefined ? '' : makeHead(request, bytes.length, contentType);
  if (bytes === undefined || head === '') {
    sendFailure(request);
    return;
  }
  if (!request.sendsBody || bytes.length === 0) writeText(request, head);
  else writeHeadAndBody(request, head, bytes, 0, bytes.length, false);
  request.connection.finish(request);
}

/** Answers 500 without any filter, as one of them has failed. */
export function sendFailure(request: Request): void {
  request.unfiltered = true;
  request.chunked = false;
  request.keepAlive = false;
  request.status = 500;
  request.errorStatus = 0;
  request.statusLine = '';
  request.response.adopt('');
  sendWhole(request, Buffer.from(specialPage(500, request.location.settings.serverToken)), 'text/html');
}

/** Writes text of single bytes (latin1). */
export function writeText(request: Request, text: string): void {
  request.bytesSent += text.length;
  request.connection.socket.write(text, 'latin1');
}

/**
 * Writes a head with the first bytes of its body in one piece.
 * @param borrowed the bytes are only valid now: what is not sent as a string is copied.
 */
export function writeHeadAndBody(request: Request, head: string, chunk: Buffer, from: number, to: number, borrowed: boolean): void {
  const { socket } = request.connection;
  request.bytesSent += head.length + to - from;
  if (head.length + to - from <= JOINED_LIMIT) {
    socket.write(head + chunk.latin1Slice(from, to), 'latin1');
    return;
  }
  const body = chunk.subarray(from, to);
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(borrowed ? Buffer.from(body) : body);
  socket.uncork();
}

/** One piece of a chunked body, framed. Small ones become one string. */
export function writeChunk(request: Request, prefix: string, chunk: Buffer, from: number, to: number, borrowed: boolean): void {
  const { socket } = request.connection;
  const head = `${prefix}${(to - from).toString(16)}\r\n`;
  request.bytesSent += head.length + to - from + 2;
  if (head.length + to - from < JOINED_LIMIT) {
    socket.write(`${head}${chunk.latin1Slice(from, to)}\r\n`, 'latin1');
    return;
  }
  const body = chunk.subarray(from, to);
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(borrowed ? Buffer.from(body) : body);
  socket.write('\r\n', 'latin1');
  socket.uncork();
}
