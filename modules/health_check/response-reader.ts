/** Longest head of a response. Characters. */
const MAX_HEAD = 32 * 1024;
/** What of a body is looked at. Characters. */
const MAX_BODY = 256 * 1024;

const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?:[ \r][^\n]*|\r?)$/;

/** What reading has come to. */
export type Progress = 'more' | 'complete' | 'malformed';

/** Reads one response of HTTP/1, as far as a check needs it. Text is a string of bytes (latin1). */
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
  #isChunked = false;

  /** @param wantsBody false: the response is complete with its head */
  constructor(private readonly wantsBody: boolean) {}

  read(chunk: Buffer): Progress {
    this.#text += chunk.latin1Slice();
    while (!this.#isBody) {
      const end = /\n\r?\n/.exec(this.#text);
      if (end === null) return this.#text.length > MAX_HEAD ? 'malformed' : 'more';
      if (!this.#readHead(this.#text.slice(0, end.index))) return 'malformed';
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
      return line.slice(0, colon).toLowerCase() === name ? [line.slice(colon + 1).trim()] : [];
    });
  }

  #readHead(head: string): boolean {
    const [first = '', ...fields] = head.split('\n');
    const [, status] = STATUS_LINE.exec(first) ?? [];
    if (status === undefined) return false;
    this.status = Number(status);
    this.#fields = fields;
    return true;
  }

  /** False: nothing of it is needed, or there is none (RFC 9112, 6.3). */
  #beginBody(): boolean {
    if (!this.wantsBody || this.status === 204 || this.status === 304) return false;
    this.#isChunked = this.fields('transfer-encoding').at(-1)?.toLowerCase().endsWith('chunked') === true;
    const [length] = this.fields('content-length');
    this.#left = this.#isChunked ? -1 : length === undefined || !/^\d{1,15}$/.test(length) ? Infinity : Number(length);
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
    }
    return 'more';
  }

  /** Undefined: a chunk follows. */
  #readChunkSize(): Progress | undefined {
    const [line, size] = /^(?:\r?\n)?([0-9a-f]{1,8})[^\n]*\n/i.exec(this.#text) ?? [];
    if (line === undefined || size === undefined) return /^\r?\n?[0-9a-f]{0,8}[^\n]{0,1000}$/i.test(this.#text) ? 'more' : 'malformed';
    this.#left = Number.parseInt(size, 16);
    this.#text = this.#text.slice(line.length);
    return this.#left === 0 ? 'complete' : undefined;
  }
}
