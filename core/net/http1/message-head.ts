/** Common parts of the heads of requests and responses. */
import { Char } from './characters.js';

/** Limits on one head. Lengths in bytes, line ends included. */
export interface HeadLimits {
  /** Request line (nginx: one buffer of `large_client_header_buffers`). */
  readonly line: number;
  /** One field line. */
  readonly field: number;
  /** The whole head. */
  readonly total: number;
  /** Number of field lines. */
  readonly fields: number;
  /**
   * Characters of names of request fields: a table of characters, PLAIN_NAME if absent. Fields with other names are dropped as if they
   * had not been sent (nginx: ignore_invalid_headers, underscores_in_headers): for an application that reads `-` and `_` alike,
   * `X_Real_IP` would be `X-Real-IP`.
   */
  readonly names?: Uint8Array;
}

/** The defaults of nginx: `large_client_header_buffers 4 8k`, `max_headers 1000`. */
export const DEFAULT_HEAD_LIMITS: HeadLimits = { line: 8192, field: 8192, total: 32768, fields: 1000 };

/** nginx's own code for a head that is over a limit. The client gets 400. */
export const HEAD_TOO_LARGE = 494;

/** Kinds of field that the codec knows. From Hop on they end at this hop and are never forwarded. */
export const enum FieldKind {
  Ordinary = 0,
  Host = 1,
  ContentLength = 2,
  Hop = 8,
  Connection = 9,
}

/** More options in Connection than this make the head malformed: they are compared with every field. */
export const MAX_CONNECTION_OPTIONS = 16;

const INITIAL_FIELDS = 32;
const INITIAL_BYTES = 4096;
/** Zeros after the text: as far as a look ahead reaches. NUL is in no class, so it ends every loop. */
const PADDING = 16;

/**
 * A parsed head as offsets into its text. A scratch object: parsing overwrites all of it, so code that needs a head for longer keeps the
 * object and uses another one for the next message.
 */
export abstract class MessageHead {
  /** The head as latin1 text, from the first line to the empty line, both included. */
  text = '';
  /** The same as bytes, followed by zeros: reading a byte costs a third of reading a character. */
  bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  /** The same memory, four bytes at a time. */
  words = new Int32Array(this.bytes.buffer);
  /** Minor version: 0 or 1. */
  minor = 1;
  /** Offset of the first field line. */
  fieldsStart = 0;
  /** Offset after the empty line. */
  end = 0;
  /** Number of field lines. */
  count = 0;
  /** How many of them the sender did not send as fields, so that {@link HeadLimits.fields} does not count them. */
  uncounted = 0;
  /** Four offsets a field: name start, name end, value start, value end. White space around the value is left out. */
  fields = new Int32Array(4 * INITIAL_FIELDS);
  /** The kind of each field ({@link FieldKind}). */
  kinds = new Uint8Array(INITIAL_FIELDS);
  /** Value of Content-Length, -1: none. */
  contentLength = -1;
  /** Transfer-Encoding is `chunked`. */
  chunked = false;
  /** The sender lets the connection live (RFC 9112, 9.3): from version and Connection. */
  keepAlive = false;
  /** Connection has the option `upgrade` and there is an Upgrade field. */
  upgrade = false;
  /** Expect is `100-continue`. */
  expectContinue = false;
  /** Field lines were dropped while parsing: they are in the text and not in {@link fields}. */
  gaps = false;
  /** Index of the Host field, -1: none. */
  hostField = -1;
  /** Connection has the option `close`, `keep-alive`, `upgrade`; an Upgrade field exists. */
  optionClose = false;
  optionKeepAlive = false;
  optionUpgrade = false;
  upgradeField = false;
  /** Start and end of the other options of Connection: names of fields that end at this hop. */
  options = new Int32Array(2 * MAX_CONNECTION_OPTIONS);
  optionCount = 0;
  /** Why parsing failed, for the error log. Empty after success. */
  reason = '';
  /** Parsing stopped at a line that ends with LF alone. */
  bareLf = false;
  /** nginx's code of the failure ({@link HEAD_TOO_LARGE} or the status), 0 after success. */
  code = 0;

  /** Initials of the names, among those of certain lengths, that are here: a bit a letter. */
  initials = 0;

  /** @param sender who sent the head, for {@link reason} */
  protected constructor(readonly sender: 'client' | 'upstream') {}

  /** Makes it the head of nothing: no text, no fields, no body. Parsing starts with it, so a rejected head keeps nothing of the one before. */
  forget(): void {
    this.text = '';
    this.minor = 1;
    this.fieldsStart = 0;
    this.end = 0;
    this.count = 0;
    this.uncounted = 0;
    this.contentLength = -1;
    this.chunked = false;
    this.keepAlive = false;
    this.upgrade = false;
    this.expectContinue = false;
    this.gaps = false;
    this.hostField = -1;
    this.optionClose = false;
    this.optionKeepAlive = false;
    this.optionUpgrade = false;
    this.upgradeField = false;
    this.optionCount = 0;
    this.initials = 0;
    this.reason = '';
    this.bareLf = false;
    this.code = 0;
  }

  /** Starts with a new text. */
  load(text: string): void {
    this.forget();
    this.text = text;
    const { length } = text;
    if (length + PADDING > this.bytes.length) this.#enlarge(length);
    const { bytes } = this;
    bytes.latin1Write(text, 0);
    for (let at = length; at < length + PADDING; at++) bytes[at] = 0;
  }

  #enlarge(length: number): void {
    // A whole number of words, twice what is needed.
    this.bytes = Buffer.allocUnsafeSlow(8 * Math.ceil((length + PADDING) / 4));
    this.words = new Int32Array(this.bytes.buffer);
  }

  /** Makes room for twice as many fields. */
  grow(): void {
    const fields = new Int32Array(2 * this.fields.length);
    fields.set(this.fields);
    this.fields = fields;
    const kinds = new Uint8Array(2 * this.kinds.length);
    kinds.set(this.kinds);
    this.kinds = kinds;
  }

  /** Notes why the head is rejected. `what` follows "client sent". Returns the status to respond with. */
  refuse(status: number, what: string): number {
    this.reason = `${this.sender} sent ${what}`;
    this.code = status;
    return status;
  }

  /** As {@link refuse}, because of the byte at `at`, where a CRLF should be. */
  refuseAt(at: number, what: string): number {
    this.bareLf = this.bytes[at] === Char.LF;
    return this.refuse(400, what);
  }

  /** As {@link refuse}, for a head over a limit. */
  refuseLarge(what: string): number {
    this.refuse(400, what);
    this.code = HEAD_TOO_LARGE;
    return 400;
  }
}
