/** Records of FastCGI (specification of version 1.0, sections 3 and 5). Texts are strings of bytes (latin1). */

export const BEGIN_REQUEST = 1;
export const END_REQUEST = 3;
export const PARAMS = 4;
export const STDIN = 5;
export const STDOUT = 6;
export const STDERR = 7;

/** Bytes of a record's head. */
export const HEAD_LENGTH = 8;
/** Bytes that one record carries at most. */
export const MOST_CONTENT = 65_535;

const VERSION = 1;
/** One request a connection: its number is always this. */
const REQUEST_ID = 1;
const RESPONDER = 1;
const KEEP_CONN = 1;
/** Lengths up to this take one byte, others four. */
const SHORT_LENGTH = 127;

/** Begin of a request to a responder. @param keeps the connection stays open after the response */
export function beginRequest(keeps: boolean): string {
  return recordHead(BEGIN_REQUEST, HEAD_LENGTH) + String.fromCharCode(0, RESPONDER, keeps ? KEEP_CONN : 0, 0, 0, 0, 0, 0);
}

/** Head of a record without padding. An empty record ends its stream. */
export function recordHead(type: number, length: number): string {
  return String.fromCharCode(VERSION, type, 0, REQUEST_ID, length >> 8, length & 0xff, 0, 0);
}

/** One parameter, as the stream of parameters has it. */
export function nameValue(name: string, value: string): string {
  return lengthText(name.length) + lengthText(value.length) + name + value;
}

/** The records of a whole stream, with the empty one that ends it. */
export function wholeStream(type: number, content: string): string {
  let text = '';
  for (let at = 0; at < content.length; at += MOST_CONTENT) {
    const part = content.slice(at, at + MOST_CONTENT);
    text += recordHead(type, part.length) + part;
  }
  return text + recordHead(type, 0);
}

function lengthText(length: number): string {
  if (length <= SHORT_LENGTH) return String.fromCharCode(length);
  return String.fromCharCode((length >>> 24) | 0x80, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff);
}

/** Receives what {@link RecordReader} finds. The bytes are valid during the call. */
export interface RecordSink {
  onContent(type: number, bytes: Buffer, from: number, to: number): void;
  /** A record is complete. @param length of its content */
  onRecord(type: number, length: number): void;
  onMalformed(text: string): void;
}

/** Reads records that arrive in pieces of any size. */
export class RecordReader {
  /** The part of a head that has arrived. */
  readonly #head = Buffer.alloc(HEAD_LENGTH);
  #headLength = 0;
  #type = 0;
  #length = 0;
  #content = 0;
  #padding = 0;
  #isStopped = false;

  constructor(private readonly sink: RecordSink) {}

  /** Nothing of a record has arrived that is not complete. */
  get isBetweenRecords(): boolean {
    return this.#headLength === 0;
  }

  /** The next records are the response to another request. */
  reset(): void {
    this.#headLength = this.#content = this.#padding = 0;
    this.#isStopped = false;
  }

  /** The rest of this read is ignored. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Returns the number of bytes consumed: all unless it was stopped. */
  read(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.#isStopped) {
      if (this.#headLength < HEAD_LENGTH) at = this.#readHead(bytes, at);
      else if (this.#content > 0) {
        const to = Math.min(bytes.length, at + this.#content);
        this.#content -= to - at;
        this.sink.onContent(this.#type, bytes, at, to);
        at = to;
      } else {
        const skipped = Math.min(bytes.length - at, this.#padding);
        this.#padding -= skipped;
        at += skipped;
      }
      if (this.#headLength === HEAD_LENGTH && this.#content === 0 && this.#padding === 0 && !this.#isStopped) {
        this.#headLength = 0;
        this.sink.onRecord(this.#type, this.#length);
      }
    }
    return at;
  }

  #readHead(bytes: Buffer, from: number): number {
    const length = Math.min(HEAD_LENGTH - this.#headLength, bytes.length - from);
    bytes.copy(this.#head, this.#headLength, from, from + length);
    this.#headLength += length;
    if (this.#headLength === HEAD_LENGTH) this.#begin();
    return from + length;
  }

  #begin(): void {
    const [version = 0, type = 0, idHigh = 0, idLow = 0] = this.#head;
    if (version !== VERSION) this.#fail(`upstream sent unsupported FastCGI protocol version: ${version}`);
    else if (type !== STDOUT && type !== STDERR && type !== END_REQUEST) this.#fail(`upstream sent invalid FastCGI record type: ${type}`);
    else if (idHigh !== 0) this.#fail(`upstream sent unexpected FastCGI request id high byte: ${idHigh}`);
    else if (idLow !== REQUEST_ID) this.#fail(`upstream sent unexpected FastCGI request id low byte: ${idLow}`);
    else {
      this.#type = type;
      this.#length = this.#content = this.#head.readUInt16BE(4);
      this.#padding = this.#head.readUInt8(6);
      if (type === END_REQUEST && this.#length !== HEAD_LENGTH)
        this.#fail(`upstream sent a FastCGI end of request with ${this.#length} bytes`);
    }
  }

  #fail(text: string): void {
    this.#isStopped = true;
    this.sink.onMalformed(text);
  }
}
