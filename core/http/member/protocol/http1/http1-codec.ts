import { LENGTH_UNKNOWN, NO_BODY, type AttemptHead } from '../../../../contract/member.js';
import { CHUNK_END, ChunkedDecoder, type ChunkSink, encodeChunkHead, LAST_CHUNK, LAST_CHUNK_HEAD } from '../../../../net/http1/chunked.js';
import { BODY_CHUNKED, BODY_LENGTH, BODY_NONE, BODY_UNTIL_CLOSE, responseBodyKind } from '../../../../net/http1/response-head.js';
import type { CoreCodec, SerialStream } from '../serial-stream.js';
import { headFailure, parseHead } from './response-parser.js';

/** Head and a small body leave as one string, and so does a small chunk. */
const JOINED_LIMIT = 16_384;
/** Bytes at the end of a body that are always read: what comes with them must not be taken for the next response. */
const LAST = 4096;
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

/** HTTP/1 over one connection to a member (RFC 9112). */
export class Http1Codec implements CoreCodec, ChunkSink {
  #method = '';
  #sendsChunks = false;
  /** The part of a head that has come. */
  #partial: Buffer | undefined = undefined;
  /** Of the body that is read. BODY_NONE: the next thing is a head. */
  #kind = BODY_NONE;
  #remaining = 0;
  #keepAlive = false;
  #decoder: ChunkedDecoder | undefined = undefined;

  constructor(private readonly stream: SerialStream) {}

  start({ method, target, fields, length, mayHaveTrailers }: AttemptHead, body: readonly Buffer[], ends: boolean): void {
    this.#method = method;
    this.#partial = undefined;
    this.#kind = BODY_NONE;
    const { version } = this.stream.target;
    // Only after chunks there is a place for trailers (RFC 9112, 7.1.2).
    this.#sendsChunks = length === LENGTH_UNKNOWN || (mayHaveTrailers && version === '1.1');
    const text = `${method} ${target} HTTP/${version}\r\n${fields}${this.#sendsChunks ? CHUNKED : framing(length)}`;
    const size = sizeOf(body);
    if (size === 0) this.stream.send(text);
    else if (text.length + size <= JOINED_LIMIT && !this.#sendsChunks) this.stream.send(text + joined(body));
    else {
      this.stream.send(text);
      for (const piece of body) this.write(piece, undefined);
    }
    if (ends) this.end('');
  }

  write(piece: Buffer, release: (() => void) | undefined): void {
    const { stream } = this;
    // An empty chunk would be the last one.
    if (piece.length === 0) release?.();
    else if (!this.#sendsChunks) stream.sendBytes(piece, release);
    else if (piece.length <= JOINED_LIMIT && release === undefined)
      stream.send(encodeChunkHead(piece.length) + piece.latin1Slice() + CHUNK_END);
    else {
      const { socket } = stream.connection;
      socket.cork();
      stream.send(encodeChunkHead(piece.length));
      stream.sendBytes(piece, release);
      stream.send(CHUNK_END);
      socket.uncork();
    }
  }

  end(trailers: string): void {
    if (this.#sendsChunks) this.stream.send(trailers === '' ? LAST_CHUNK : `${LAST_CHUNK_HEAD}${trailers}\r\n`);
  }

  read(bytes: Buffer): void {
    if (this.#kind === BODY_NONE) this.#readHead(bytes);
    else this.#readBody(bytes, 0);
  }

  get sendsPlainBody(): boolean {
    return !this.#sendsChunks;
  }

  readEnd(): boolean {
    return this.#kind === BODY_UNTIL_CLOSE;
  }

  get passable(): number {
    return this.#kind === BODY_LENGTH ? Math.max(this.#remaining - LAST, 0) : 0;
  }

  skip(count: number): void {
    this.#remaining -= count;
  }

  /** From the decoder. */
  onData(bytes: Buffer, from: number, to: number): void {
    this.stream.pass(bytes, from, to);
  }

  #readHead(bytes: Buffer): void {
    const { context, headLimits } = this.stream.target;
    const input = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes]);
    this.#partial = undefined;
    let from = 0;
    for (;;) {
      const end = parseHead(context, input, from, headLimits);
      if (end < 0) {
        this.stream.fail(headFailure(context));
        return;
      }
      if (end === 0) {
        if (from < input.length) this.#partial = Buffer.from(input.subarray(from));
        return;
      }
      from = end;
      if (context.responseHead.interim) {
        if (this.stream.passInterim()) continue;
        return;
      }
      this.#begin(input, from);
      return;
    }
  }

  /** The final response, whose head is in the scratch. The input after it belongs to the body. */
  #begin(input: Buffer, bodyStart: number): void {
    const { stream } = this;
    const { responseHead: head } = stream.target.context;
    const { contentLength } = head;
    const { version } = stream.target;
    const inHand = input.length - bodyStart;
    const kind = responseBodyKind(this.#method, head);
    const mayReuse = head.keepAlive && version === '1.1';
    if (head.status === 101) this.#switch(input, bodyStart);
    // A response to HEAD, and a 304, tell the length of a body that does not follow.
    else if (kind === BODY_NONE) stream.beginWhole(contentLength, input, bodyStart, bodyStart, mayReuse && inHand === 0);
    else if (kind === BODY_LENGTH && contentLength <= inHand)
      stream.beginWhole(contentLength, input, bodyStart, bodyStart + contentLength, mayReuse && inHand === contentLength);
    else {
      this.#keepAlive = mayReuse && kind !== BODY_UNTIL_CLOSE;
      this.#remaining = contentLength;
      if (!stream.begin(kind === BODY_LENGTH ? contentLength : LENGTH_UNKNOWN, inHand)) return;
      this.#kind = kind;
      if (kind === BODY_CHUNKED) (this.#decoder ??= new ChunkedDecoder(true)).reset();
      stream.connection.wantOwnBuffers(stream.target.bodyRead);
      if (inHand > 0) this.#readBody(input, bodyStart);
    }
  }

  /** Data after the head of a 101 belongs to the new protocol. */
  #switch(input: Buffer, from: number): void {
    const { stream } = this;
    const inHand = input.length - from;
    stream.begin(LENGTH_UNKNOWN, inHand);
    if (inHand === 0 || !stream.isUpgraded) return;
    // The tunnel counts them.
    stream.received -= inHand;
    stream.connection.user?.onUpstreamData(input.subarray(from), true);
  }

  #readBody(bytes: Buffer, from: number): void {
    const { stream } = this;
    if (this.#kind === BODY_CHUNKED) {
      this.#readChunks(bytes, from);
      return;
    }
    if (this.#kind === BODY_UNTIL_CLOSE) {
      stream.pass(bytes, from, bytes.length);
      return;
    }
    const to = Math.min(bytes.length, from + this.#remaining);
    this.#remaining -= to - from;
    stream.pass(bytes, from, to);
    if (this.#remaining === 0) stream.complete(this.#keepAlive && to === bytes.length);
  }

  #readChunks(bytes: Buffer, from: number): void {
    const decoder = (this.#decoder ??= new ChunkedDecoder(true));
    const end = decoder.decode(bytes, from, bytes.length, this);
    if (decoder.failed) this.stream.fail('upstream sent invalid chunked response while reading upstream');
    else if (decoder.done) this.stream.complete(this.#keepAlive && end === bytes.length, decoder.trailers);
  }
}

function framing(length: number): string {
  return length === NO_BODY ? '\r\n' : `Content-Length: ${length}\r\n\r\n`;
}

function sizeOf(pieces: readonly Buffer[]): number {
  let size = 0;
  for (const piece of pieces) size += piece.length;
  return size;
}

function joined(pieces: readonly Buffer[]): string {
  let text = '';
  for (const piece of pieces) text += piece.latin1Slice();
  return text;
}
