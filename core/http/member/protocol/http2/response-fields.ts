import type { FieldSink } from '../../../../net/http2/hpack-decoder.js';

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const NOT_IN_VALUE = /[\0\r\n]/;
const STATUS = /^[1-9]\d\d$/;
/** Fields of a connection, which HTTP/2 does not have (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);
/** Fields that trailers must not have (RFC 9110, 6.5.1). */
const NOT_IN_TRAILERS = new Set(['content-length', 'host', 'te', 'trailer', 'content-encoding', 'content-type', 'content-range']);

/** The fields of a member's response as the decoder gives them, brought into the form of an HTTP/1 head: one parser serves both. */
export class Http2ResponseFields implements FieldSink {
  /** Why they are malformed; empty: they are not. */
  malformed = '';
  /** More came than the limit allows; what came after that is not in the text. */
  isTooLarge = false;
  #status = '';
  #lines = '';
  #size = 0;

  constructor(
    private readonly limit: number,
    /** Trailers have no pseudo-header fields. */
    private readonly isTrailer: boolean,
  ) {}

  /** The head, or the trailers, each line with its CRLF. Empty: it is malformed. */
  get text(): string {
    if (!this.isTrailer && this.malformed === '' && this.#status === '') this.malformed = 'no :status';
    if (this.malformed !== '' || this.isTooLarge) return '';
    return this.isTrailer ? this.#lines : `HTTP/1.1 ${this.#status} \r\n${this.#lines}\r\n`;
  }

  onField(name: string, value: string): void {
    this.#size += name.length + value.length + 4;
    if (this.#size > this.limit) this.isTooLarge = true;
    if (this.isTooLarge || this.malformed !== '') return;
    if (name.startsWith(':')) this.#pseudo(name, value);
    else if (!TOKEN.test(name)) this.malformed = `invalid header name "${name}"`;
    else if (NOT_IN_VALUE.test(value)) this.malformed = `invalid value of header "${name}"`;
    else if (CONNECTION_FIELDS.has(name)) this.malformed = `connection-specific header "${name}"`;
    else if (this.isTrailer && NOT_IN_TRAILERS.has(name)) this.malformed = `"${name}" in trailers`;
    else this.#lines += `${name}: ${value}\r\n`;
  }

  #pseudo(name: string, value: string): void {
    if (this.isTrailer) this.malformed = 'pseudo-header field in trailers';
    else if (name !== ':status') this.malformed = `unknown pseudo-header field "${name}"`;
    else if (this.#status !== '' || this.#lines !== '') this.malformed = 'misplaced :status';
    else if (!STATUS.test(value)) this.malformed = 'invalid :status';
    else this.#status = value;
  }
}
