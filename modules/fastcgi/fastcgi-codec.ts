import type { HttpRequest } from '../../core/contract/http.js';
import { LENGTH_UNKNOWN, type AttemptHead, type MemberCodec, type MemberConnection } from '../../core/contract/member.js';
import { type CgiHead, headEnd, parseCgiHead } from './cgi-head.js';
import type { Params } from './params.js';
import {
  beginRequest,
  MOST_CONTENT,
  PARAMS,
  RecordReader,
  recordHead,
  type RecordSink,
  STDERR,
  STDIN,
  STDOUT,
  wholeStream,
} from './records.js';

/** Settings of the location of a request. */
export interface RequestSettings {
  readonly params: Params;
  /** Bytes of the longest head of a response. */
  readonly headSize: number;
  /** Texts in the standard error that make a response a failure. */
  readonly failures: readonly string[];
}

/** Settings and log of the module, for all connections. */
export interface CodecOwner {
  settings(request: HttpRequest): RequestSettings;
  /** The application has written to its standard error. */
  onError(request: HttpRequest, text: string): void;
}

/** A small body leaves with the parameters as one text. */
const JOINED_LIMIT = 16_384;
/** Characters of the standard error that one line of the log has. */
const ERROR_LIMIT = 2048;
/** protocolStatus of a complete request (5.5). */
const REQUEST_COMPLETE = 0;
const PROTOCOL_STATUS = 4;

/** FastCGI over one connection, in the role of a responder. */
export class FastcgiCodec implements MemberCodec, RecordSink {
  readonly #reader = new RecordReader(this);
  #request: HttpRequest | undefined = undefined;
  #settings: RequestSettings | undefined = undefined;
  /** The part of the head that has arrived. Undefined: the response has begun. */
  #head: string | undefined = '';
  /** Bytes of the body that may still come. Undefined: its length is not known. */
  #remaining: number | undefined = undefined;
  #isHead = false;
  #isOver = false;
  #errors = '';
  #protocolStatus = REQUEST_COMPLETE;
  #endLength = 0;

  constructor(
    private readonly connection: MemberConnection,
    private readonly owner: CodecOwner,
    private readonly keeps: boolean,
  ) {}

  start({ request, fields, method }: AttemptHead, body: readonly Buffer[], ends: boolean): void {
    this.#request = request;
    const settings = (this.#settings = this.owner.settings(request));
    this.#reader.reset();
    this.#head = this.#errors = '';
    this.#remaining = undefined;
    this.#isHead = method === 'HEAD';
    this.#isOver = false;
    this.#endLength = this.#protocolStatus = 0;
    const text = beginRequest(this.keeps) + wholeStream(PARAMS, settings.params.of(request, fields));
    const size = body.reduce((sum, piece) => sum + piece.length, 0);
    if (ends && size <= JOINED_LIMIT) this.connection.send(text + wholeStream(STDIN, body.map((piece) => piece.latin1Slice()).join('')));
    else {
      this.connection.send(text);
      for (const piece of body) this.write(piece, undefined);
      if (ends) this.end();
    }
  }

  write(piece: Buffer, release: (() => void) | undefined): void {
    if (piece.length === 0) release?.();
    for (let from = 0; from < piece.length; from += MOST_CONTENT) {
      const part = piece.subarray(from, from + MOST_CONTENT);
      this.connection.send(recordHead(STDIN, part.length));
      this.connection.sendBytes(part, from + part.length === piece.length ? release : undefined);
    }
  }

  end(): void {
    this.connection.send(recordHead(STDIN, 0));
  }

  read(bytes: Buffer): void {
    const read = this.#reader.read(bytes);
    if (this.#endLength > 0 && !this.#isOver) this.#end(read === bytes.length);
  }

  /** Some applications close the connection in place of an end of the request. */
  readEnd(): boolean {
    return !this.keeps && this.#head === undefined && this.#reader.isBetweenRecords && this.#remaining === undefined;
  }

  onContent(type: number, bytes: Buffer, from: number, to: number): void {
    if (type === STDOUT) this.#onOutput(bytes, from, to);
    else if (type === STDERR) this.#errors += bytes.latin1Slice(from, Math.min(to, from + ERROR_LIMIT - this.#errors.length));
    else {
      // protocolStatus is the fifth of the eight bytes, which may arrive one by one.
      const at = from + PROTOCOL_STATUS - this.#endLength;
      if (at >= from && at < to) this.#protocolStatus = bytes.readUInt8(at);
      this.#endLength += to - from;
    }
  }

  onRecord(type: number): void {
    if (type === STDERR && this.#errors !== '') this.#onErrors();
    // Data after the end does not belong to a request.
    else if (type !== STDOUT && type !== STDERR) this.#reader.stop();
  }

  onMalformed(text: string): void {
    this.#fail(`${text} while reading ${this.#head === undefined ? 'upstream' : 'response header from upstream'}`);
  }

  #onOutput(bytes: Buffer, from: number, to: number): void {
    if (this.#head === undefined) {
      this.#pass(bytes, from, to);
      return;
    }
    const before = this.#head.length;
    const { headSize } = this.#settings ?? { headSize: 0 };
    // The head is a small part of the first record, as a rule.
    const text = this.#head + bytes.latin1Slice(from, Math.min(to, from + headSize - before + 1));
    const end = headEnd(text);
    if (end === 0 || end > headSize) {
      this.#head = text;
      if (text.length > headSize) this.#fail('upstream sent too big header while reading response header from upstream');
      return;
    }
    const head = parseCgiHead(text.slice(0, end));
    if (typeof head === 'string') this.#fail(`${head} while reading response header from upstream`);
    else this.#begin(head, bytes, from + end - before, to);
  }

  #begin({ status, reason, fields, length }: CgiHead, bytes: Buffer, from: number, to: number): void {
    this.#head = undefined;
    const hasBody = !this.#isHead && status !== 204 && status !== 304;
    this.#remaining = hasBody ? length : 0;
    if (!this.connection.respond(status, fields, length ?? LENGTH_UNKNOWN, reason)) this.#stop();
    else if (to > from) this.#pass(bytes, from, to);
  }

  #pass(bytes: Buffer, from: number, to: number): void {
    let end = to;
    if (this.#remaining !== undefined) {
      end = Math.min(to, from + this.#remaining);
      this.#remaining -= end - from;
    }
    if (end > from) this.connection.pass(bytes, from, end);
  }

  #onErrors(): void {
    const text = this.#errors;
    this.#errors = '';
    if (this.#request === undefined) return;
    this.owner.onError(this.#request, text.trimEnd());
    if (this.#head !== undefined && this.#settings?.failures.some((failure) => text.includes(failure)) === true)
      this.#fail('upstream sent an error that fastcgi_catch_stderr names while reading response header from upstream');
  }

  /** @param isAll nothing has arrived after the end */
  #end(isAll: boolean): void {
    if (!this.#reader.isBetweenRecords) return;
    if (this.#protocolStatus !== REQUEST_COMPLETE && this.#head !== undefined)
      this.#fail(`upstream rejected the request with FastCGI protocol status ${this.#protocolStatus}`);
    else if (this.#head !== undefined) this.#fail('upstream prematurely closed FastCGI stdout while reading response header from upstream');
    else if (this.#remaining !== undefined && this.#remaining > 0)
      this.#fail('upstream prematurely closed FastCGI stdout while reading upstream');
    else {
      this.#isOver = true;
      this.connection.complete(this.keeps && isAll);
    }
  }

  #fail(text: string): void {
    this.#stop();
    this.connection.fail(text);
  }

  #stop(): void {
    this.#isOver = true;
    this.#reader.stop();
  }
}
