/** The head of a response (RFC 9112, 4 to 6). */
import { Char, TOKEN, VALUE } from './characters.js';
import { parseFields } from './field-section.js';
import { DEFAULT_HEAD_LIMITS, type HeadLimits, MessageHead } from './message-head.js';

/** How the end of a body is found (RFC 9112, 6.3). */
export const BODY_NONE = 0;
export const BODY_LENGTH = 1;
export const BODY_CHUNKED = 2;
export const BODY_UNTIL_CLOSE = 3;

/** A response head as offsets into its text; see {@link MessageHead} for how long it is valid. */
export class ResponseHead extends MessageHead {
  status = 0;
  reasonStart = 0;
  reasonEnd = 0;
  /** 1xx other than 101: the response proper is still to come. */
  interim = false;

  constructor() {
    super('upstream');
  }

  override forget(): void {
    super.forget();
    this.status = this.reasonStart = this.reasonEnd = 0;
    this.interim = false;
  }
}

/** Parses `text`, a whole head in latin1 that ends with its empty line. Returns 0, or 502 with the reason in `head.reason`. */
export function parseResponseHead(head: ResponseHead, text: string, limits: HeadLimits = DEFAULT_HEAD_LIMITS): number {
  head.load(text);
  if (!parseStatusLine(head, text)) {
    head.refuse(502, 'invalid status line');
    return 502;
  }
  if (parseFields(head, limits, TOKEN) !== 0) {
    head.code = 502;
    return 502;
  }
  const { status } = head;
  head.interim = status < 200 && status !== 101;
  head.upgrade = head.upgrade && status === 101;
  // Such a response has no body. If it announces one, whether bytes follow is anyone's guess: nothing may come after it.
  if ((status < 200 || status === 204) && (head.chunked || head.contentLength > 0)) head.keepAlive = false;
  if (!head.interim || head.keepAlive) return 0;
  // There would be no response proper (HTTP/1.0 knows no interim ones either: RFC 9110, 15.2).
  head.refuse(502, 'interim response that ends the connection');
  return 502;
}

function parseStatusLine(head: ResponseHead, text: string): boolean {
  if (!text.startsWith('HTTP/1.')) return false;
  const minor = (head.bytes[7] as number) - 0x30;
  if ((minor !== 0 && minor !== 1) || head.bytes[8] !== Char.SP) return false;
  const hundreds = (head.bytes[9] as number) - 0x30;
  const tens = (head.bytes[10] as number) - 0x30;
  const ones = (head.bytes[11] as number) - 0x30;
  if (!(hundreds >= 1 && hundreds <= 9 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9)) return false;
  head.minor = minor;
  head.status = 100 * hundreds + 10 * tens + ones;
  return parseReason(head);
}

/** Many servers leave out the space where there is no reason phrase, which RFC 9112, 4 wants. */
function parseReason(head: ResponseHead): boolean {
  let at = 12;
  if (head.bytes[at] === Char.SP) at++;
  head.reasonStart = at;
  while (at > 12 && VALUE[head.bytes[at] as number] === 1) at++;
  head.reasonEnd = at;
  if (head.bytes[at] !== Char.CR || head.bytes[at + 1] !== Char.LF) {
    head.bareLf = head.bytes[at] === Char.LF;
    return false;
  }
  head.fieldsStart = at + 2;
  return true;
}

/** End of the body after `head`, the response to a request with `method` (BODY_*). Bytes after a 101, or a 2xx to CONNECT, are not a body. */
export function responseBodyKind(method: string, head: ResponseHead): number {
  const { status } = head;
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return BODY_NONE;
  if (method === 'CONNECT' && status < 300) return BODY_NONE;
  if (head.chunked) return BODY_CHUNKED;
  return head.contentLength >= 0 ? BODY_LENGTH : BODY_UNTIL_CLOSE;
}
