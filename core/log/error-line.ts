import { isUtf8 } from 'node:buffer';
import type { HttpRequest } from '../contract/http.js';
import type { LogLevel, LogRecord, SubjectDetail } from '../contract/log.js';
import type { StreamSession } from '../contract/stream.js';

/** Data of the engine's requests for the error log, beyond the contract. */
interface LoggedRequest extends HttpRequest {
  /** The request at the upstream member in use: `http://10.0.0.1:80/path`. */
  readonly upstreamUrl?: string | undefined;
  /** The request line as received, also of a rejected request. */
  readonly requestLine?: string;
}

/** Data of the engine's sessions beyond the contract. */
export interface LoggedSession extends StreamSession {
  /** The address it is served at: `0.0.0.0:53`. */
  readonly serverAddress?: string;
  readonly upstreamTrace?: { readonly address: string; readonly sent: number; readonly received: number } | undefined;
}

/** Subjects of a line. */
export type LogSubject = HttpRequest | StreamSession;

const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** The text with control characters as `\xHH`, so that what a client sends can neither break a line nor drive a terminal. */
export function escapeControls(text: string): string {
  return text.replace(CONTROL_CHARACTERS, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).toUpperCase().padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

const LATER_BYTES = /[\u0080-\u00ff]/;
const LATER_BYTES_ALL = /[\u0080-\u00ff]/g;

/**
 * A value of a request, which is a string of bytes, as text of the log: UTF-8 as the characters that it is, and the bytes of what is none as `\xHH`
 * (nginx writes them as they came).
 */
function shown(value: string): string {
  if (!LATER_BYTES.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  if (isUtf8(bytes)) return bytes.toString();
  return value.replace(LATER_BYTES_ALL, (byte) => `\\x${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Text after a message about a request: `, client: …, server: …, request: "…", host: "…", request_id: …`. */
export function requestSuffix(request: LoggedRequest): string {
  let suffix = `, client: ${request.connection.remoteAddress}, server: ${request.variable('server_name') ?? ''}`;
  const line = request.requestLine ?? requestLine(request);
  if (line !== '') suffix += `, request: "${quoted(line)}"`;
  if (request.parent !== undefined) suffix += `, subrequest: "${quoted(request.uri)}"`;
  if (request.upstreamUrl !== undefined) suffix += `, upstream: "${quoted(request.upstreamUrl)}"`;
  const host = request.header('host');
  if (host !== undefined) suffix += `, host: "${quoted(host)}"`;
  return `${suffix}, request_id: ${request.requestId}`;
}

/** The same fields apart. */
export function requestFields(request: LoggedRequest): Partial<LogRecord> {
  const line = request.requestLine ?? requestLine(request);
  const host = request.header('host');
  return {
    client: request.connection.remoteAddress,
    server: request.variable('server_name') ?? '',
    ...(line !== '' && { request: escapeControls(shown(line)) }),
    ...(request.upstreamUrl !== undefined && { upstream: escapeControls(shown(request.upstreamUrl)) }),
    ...(host !== undefined && { host: escapeControls(shown(host)) }),
    requestId: request.requestId,
  };
}

/** Text after a message about a session: `, client: …, server: …, upstream: "…", bytes from/to client: …`. */
export function sessionSuffix(session: LoggedSession): string {
  const { protocol, connection, serverAddress = '', bytesReceived, bytesSent, upstreamTrace } = session;
  const suffix = `,${protocol === 'UDP' ? ' udp' : ''} client: ${connection.remoteAddress}, server: ${serverAddress}`;
  if (upstreamTrace === undefined) return suffix;
  const { address, sent, received } = upstreamTrace;
  return `${suffix}, upstream: "${quoted(address)}", bytes from/to client:${bytesReceived}/${bytesSent}, bytes from/to upstream:${received}/${sent}`;
}

/** True for a request, false for a session. */
export function isRequest(subject: LogSubject): subject is HttpRequest {
  return 'method' in subject;
}

/** `2026/11/21 00:00:00 [error] 12#3: *45 text`, in local time. Texts are escaped, so one message is one line. */
export function errorLine(
  level: LogLevel,
  text: string,
  origin: string,
  subject: LogSubject | undefined,
  now: Date,
  detail: SubjectDetail = 'all',
): string {
  const head = `${timestamp(now)} [${level}] ${origin}: `;
  if (subject === undefined) return head + escapeControls(text);
  const suffix = detail === 'number' ? '' : isRequest(subject) ? requestSuffix(subject) : sessionSuffix(subject);
  return `${head}*${subject.connection.id} ${escapeControls(text + suffix)}`;
}

function requestLine(request: HttpRequest): string {
  if (request.method === '') return '';
  return request.protocol === 'HTTP/0.9'
    ? `${request.method} ${request.requestUri}`
    : `${request.method} ${request.requestUri} ${request.protocol}`;
}

function quoted(text: string): string {
  return shown(text).replaceAll('"', '\\x22');
}

function timestamp(now: Date): string {
  const date = `${now.getFullYear()}/${twoDigits(now.getMonth() + 1)}/${twoDigits(now.getDate())}`;
  return `${date} ${twoDigits(now.getHours())}:${twoDigits(now.getMinutes())}:${twoDigits(now.getSeconds())}`;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
