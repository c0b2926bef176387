/** Longest head of a response. Characters. */
const MAX_HEAD = 32 * 1024;
/** Part of a body that is compared. Characters. */
const MAX_BODY = 256 * 1024;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r?$/;
const FIELD_LINE = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r?$/;
const CHUNK_LINE = /^([0-9a-f]{1,32})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\r\n/i;
/** Received part. */
const CHUNK_LINE_PART = /^[0-9a-f]{0,32}(?:[ \t]*;[\t\x20-\x7e\x80-\xff]{0,1024}|[ \t]{0,1024})\r?$/i;

/** Result of reading. */
export type Progress = 'more' | 'complete' | 'malformed';

/**
 * Reads one response of HTTP/1, as far as a check needs it, with the rules that responses to requests are read with: a member passes no check
 * with a response that clients would get a 502 for. Text is a string of bytes (latin1).
 */
export class ResponseReader {
  status = 0;
  /** The body so far, without its framing. */
  body = '';
  /** Lines of the head. */
  #fields: string[] = [];
  #text = '';
  #isBody = false;
  /** Characters of the body, or of its present chunk, that are to come; -1: the length of a chunk is. */
  #left = 0;
  /** The line end after a chunk is to come. */
  #endsChunk = false;
  #isChunked = false;

  /** @param wantsBody false: the response is complete with its head */
  constructor(private readonly wantsBody: boolean) {}

  read(chunk: Buffer): Progress {
    this.#text += chunk.latin1Slice();
    while (!this.#isBody) {
      const end = /\n\r?\n/.exec(this.#text);
      if (end === null) return this.#text.length > MAX_HEAD ? 'malformed' : 'more';
      if (end.index > MAX_HEAD || !this.#readHead(this.#text.slice(0, end.index))) return 'malformed';
      this.#text = this.#text.slice(end.index + end[0].length);
      this.#isBody = this.status >= 200 || this.status === 101;
      if (this.#isBody && !this.#beginBody()) return 'complete';
    }
    return this.#readBody();
  }

  /** The connection has ended. */
  get isCompleteAtEnd(): boolean {
    return this.#isBody && !this.#isChunked && this.#left === Infinity;
  }

  /** Values of a field, one for each of its lines. @param name in lower case */
  fields(name: string): readonly string[] {
    return this.#fields.flatMap((line) => {
      const colon = line.indexOf(':');
      return line.slice(0, colon).toLowerCase() === name ? [line.slice(colon + 1).replaceAll(/^[ \t]+|[ \t\r]+$/g, '')] : [];
    });
  }

  #readHead(head: string): boolean {
    const [first = '', ...fields] = head.split('\n');
    const [, minor, status] = STATUS_LINE.exec(first) ?? [];
    if (status === undefined || !fields.every((line) => FIELD_LINE.test(line))) return false;
    this.status = Number(status);
    this.#fields = fields;
    return this.#hasClearFraming(minor === '0');
  }

  /** One sender, one meaning of where the body ends (RFC 9112, 6.3). */
  #hasClearFraming(isOld: boolean): boolean {
    const lengths = this.fields('content-length');
    const codings = this.fields('transfer-encoding');
    if (lengths.length + codings.length > 1) return false;
    if (lengths.some((length) => !/^\d{1,16}$/.test(length) || !Number.isSafeInteger(Number(length)))) return false;
    // HTTP/1.0 knows neither codings nor interim responses.
    if (isOld && (codings.length > 0 || (this.status < 200 && this.status !== 101))) return false;
    return codings.every((coding) => coding.toLowerCase() === 'chunked');
  }

  /** False: nothing of it is needed, or there is none (RFC 9112, 6.3). */
  #beginBody(): boolean {
    if (!this.wantsBody || this.status === 204 || this.status === 304) return false;
    this.#isChunked = this.fields('transfer-encoding').length > 0;
    const [length] = this.fields('content-length');
    this.#left = this.#isChunked ? -1 : Number(length ?? Infinity);
    return this.#left !== 0;
  }

  #readBody(): Progress {
    while (this.#text !== '') {
      if (this.#left < 0) {
        const progress = this.#readChunkSize();
        if (progress !== undefined) return progress;
      }
      const piece = this.#text.slice(0, this.#left);
      this.body += piece;
      this.#text = this.#text.slice(piece.length);
      this.#left -= piece.length;
      if (this.body.length >= MAX_BODY) return 'complete';
      if (this.#left > 0) return 'more';
      if (!this.#isChunked) return 'complete';
      this.#left = -1;
      this.#endsChunk = true;
    }
    return 'more';
  }

  /** Undefined: a chunk follows. */
  #readChunkSize(): Progress | undefined {
    if (this.#endsChunk) {
      if (!this.#text.startsWith('\r\n')) return this.#text === '\r' ? 'more' : 'malformed';
      this.#text = this.#text.slice(2);
      this.#endsChunk = false;
    }
    const [line, size] = CHUNK_LINE.exec(this.#text) ?? [];
    if (line === undefined || size === undefined) return CHUNK_LINE_PART.test(this.#text) ? 'more' : 'malformed';
    this.#left = Number.parseInt(size, 16);
    if (!Number.isSafeInteger(this.#left)) return 'malformed';
    this.#text = this.#text.slice(line.length);
    return this.#left === 0 ? 'complete' : undefined;
  }
}
