/** The head of a request (RFC 9112, 2 to 6). */
import { Char, equalsIgnoreCase, METHOD, TARGET, PLAIN_NAME } from './characters.js';
import { parseFields } from './field-section.js';
import { dropNominated } from './fields.js';
import { hostNameEnd, normalHostName } from './host.js';
import { type HeadLimits, MessageHead } from './message-head.js';

/** Forms of the request target (RFC 9112, 3.2). `*` is rejected, as by nginx: it is not a path for choosing a location. */
export const TARGET_ORIGIN = 0;
export const TARGET_ABSOLUTE = 1;
export const TARGET_AUTHORITY = 2;

/** A request head as offsets into its text; see {@link MessageHead} for how long it is valid. */
export class RequestHead extends MessageHead {
  method = '';
  targetStart = 0;
  targetEnd = 0;
  /** TARGET_* */
  targetForm = TARGET_ORIGIN;
  /**
   * Where path and arguments start in the target; they end at {@link targetEnd}. With the absolute form they may be empty or start
   * with a question mark: the path is then `/`.
   */
  pathStart = 0;
  /**
   * The host this request is for, with its port: of the target where it has one, else of the Host field (RFC 9112, 3.2.2: the field
   * is then ignored, so forward and log this range, not the field). -1: HTTP/1.0 without Host.
   */
  hostStart = -1;
  hostEnd = -1;
  /** End of the host without its port. */
  hostNameEnd = -1;
  /** Bytes it came in, where that is not the length of the text (lines ended with LF); else 0. */
  receivedLength = 0;
  #hostName = '';

  constructor() {
    super('client');
  }

  override forget(): void {
    super.forget();
    this.method = '';
    this.targetStart = this.targetEnd = this.pathStart = 0;
    this.targetForm = TARGET_ORIGIN;
    this.hostStart = this.hostEnd = this.hostNameEnd = -1;
    this.#hostName = '';
    this.receivedLength = 0;
  }

  /** The host this request is for, as servers are looked up by: lower case, without port; empty: none. */
  get hostName(): string {
    if (this.hostStart >= 0 && this.#hostName === '') this.#hostName = normalHostName(this.text, this.hostStart, this.hostNameEnd);
    return this.#hostName;
  }
}

/**
 * Parses `text`, a whole head in latin1 that ends with its empty line, into `head`. Returns 0, or the status to respond with before the
 * connection is closed: 400 malformed or ambiguous or over a limit (`head.code` is 494 then), 414 request line too long, 501
 * transfer coding unknown, 505 version not supported. `head.reason` says why, in the words of nginx's error log.
 * @param uncounted see {@link MessageHead.uncounted}
 */
export function parseRequestHead(head: RequestHead, text: string, limits: HeadLimits, uncounted = 0): number {
  head.load(text);
  head.uncounted = uncounted;
  const names = limits.names ?? PLAIN_NAME;
  const status = parseRequestLine(head, text, limits) || parseFields(head, limits, names);
  if (status !== 0) return status;
  dropNominated(head);
  return parseTarget(head, text) || checkHost(head);
}

/** Reads a request line alone: it may be valid although the head is rejected. False, and a forgotten head: it is not. */
export function parseLoneLine(head: RequestHead, line: string, limits: HeadLimits): boolean {
  const text = `${line}\r\n\r\n`;
  head.load(text);
  if (parseRequestLine(head, text, limits) === 0 && parseTarget(head, text) === 0) return true;
  head.forget();
  return false;
}

function parseRequestLine(head: RequestHead, text: string, limits: HeadLimits): number {
  const { bytes } = head;
  let at = 0;
  while (METHOD[bytes[at] as number] === 1) at++;
  if (at === 0 || bytes[at] !== Char.SP) return head.refuse(400, 'invalid method');
  head.method = methodName(text, at);
  head.targetStart = ++at;
  while (TARGET[bytes[at] as number] === 1) at++;
  head.targetEnd = at;
  if (at + ' HTTP/1.1\r\n'.length > limits.line) return head.refuse(414, 'too long URI');
  if (at === head.targetStart || bytes[at] !== Char.SP) return head.refuse(400, 'invalid request');
  return parseVersion(head, text, at + 1);
}

/** The method as a string; for the usual ones always the same string, so that comparing it is comparing a pointer. */
function methodName(text: string, end: number): string {
  switch (end) {
    case 3:
      if (text.startsWith('GET')) return 'GET';
      if (text.startsWith('PUT')) return 'PUT';
      break;
    case 4:
      if (text.startsWith('POST')) return 'POST';
      if (text.startsWith('HEAD')) return 'HEAD';
      break;
    case 5:
      if (text.startsWith('PATCH')) return 'PATCH';
      break;
    case 6:
      if (text.startsWith('DELETE')) return 'DELETE';
      break;
    case 7:
      if (text.startsWith('OPTIONS')) return 'OPTIONS';
      break;
  }
  return text.slice(0, end);
}

function parseVersion(head: RequestHead, text: string, at: number): number {
  const line = head.bytes[at + 8] === Char.CR && head.bytes[at + 9] === Char.LF;
  if (!line || !text.startsWith('HTTP/', at) || head.bytes[at + 6] !== 0x2e) return head.refuseAt(at + 8, 'invalid request');
  const major = (head.bytes[at + 5] as number) - 0x30;
  const minor = (head.bytes[at + 7] as number) - 0x30;
  if (!(major >= 0 && major <= 9 && minor >= 0 && minor <= 9)) return head.refuse(400, 'invalid request');
  if (major !== 1 || minor > 1) return head.refuse(505, 'invalid version');
  head.minor = minor;
  head.fieldsStart = at + 10;
  return 0;
}

const SLASH = 0x2f;

function parseTarget(head: RequestHead, text: string): number {
  const { targetStart } = head;
  head.pathStart = targetStart;
  if (head.method === 'CONNECT') return parseAuthorityForm(head);
  if (head.bytes[targetStart] === SLASH) {
    head.targetForm = TARGET_ORIGIN;
    return 0;
  }
  return parseAbsoluteForm(head, text);
}

function parseAuthorityForm(head: RequestHead): number {
  head.targetForm = TARGET_AUTHORITY;
  head.pathStart = head.targetEnd;
  // What follows belongs to the tunnel (RFC 9110, 9.3.6): a body could be read in two ways.
  if (head.chunked || head.contentLength > 0) return head.refuse(400, 'CONNECT request with a body');
  if (!takeAuthority(head, head.targetStart, head.targetEnd)) return head.refuse(400, 'invalid host in request line');
  // RFC 9112, 3.2.3: the port is not optional here.
  return head.hostEnd - head.hostNameEnd > 1 ? 0 : head.refuse(400, 'invalid port in request line');
}

function parseAbsoluteForm(head: RequestHead, text: string): number {
  const scheme = schemeLength(text, head.targetStart);
  if (scheme === 0) return head.refuse(400, 'invalid request');
  const start = head.targetStart + scheme;
  let at = start;
  while (at < head.targetEnd && !endsAuthority(text.charCodeAt(at))) at++;
  head.targetForm = TARGET_ABSOLUTE;
  head.pathStart = at;
  return takeAuthority(head, start, at) ? 0 : head.refuse(400, 'invalid host in request line');
}

function schemeLength(text: string, at: number): number {
  if (equalsIgnoreCase(text, at, 'http://')) return 'http://'.length;
  if (equalsIgnoreCase(text, at, 'https://')) return 'https://'.length;
  return 0;
}

/** Slash and question mark. A number sign does not (RFC 9112, 3.2.2: the absolute form has no fragment), so that it makes the host invalid. */
function endsAuthority(c: number): boolean {
  return c === SLASH || c === 0x3f;
}

function takeAuthority(head: RequestHead, start: number, end: number): boolean {
  const nameEnd = hostNameEnd(head.bytes, start, end);
  if (nameEnd < 0) return false;
  head.hostStart = start;
  head.hostEnd = end;
  head.hostNameEnd = nameEnd;
  return true;
}

/** RFC 9112, 3.2: exactly one valid Host in HTTP/1.1, also where the target names the host. */
function checkHost(head: RequestHead): number {
  const { hostField, fields } = head;
  if (hostField < 0) return head.minor === 0 ? 0 : head.refuse(400, 'HTTP/1.1 request without "Host" header');
  const start = fields[4 * hostField + 2] as number;
  const end = fields[4 * hostField + 3] as number;
  if (head.hostStart >= 0) return hostNameEnd(head.bytes, start, end) < 0 ? head.refuse(400, 'invalid host header') : 0;
  return takeAuthority(head, start, end) ? 0 : head.refuse(400, 'invalid host header');
}
