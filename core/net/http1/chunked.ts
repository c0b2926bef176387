/** The chunked transfer coding (RFC 9112, 7.1), both ways. */
import { Char, HEX, VALUE } from './characters.js';
import { TRAILER_LIMITS, TrailerSection } from './trailer-section.js';

/** Takes the body out of the chunks, as ranges of the input. It must not call back into the decoder. */
export interface ChunkSink {
  onData(input: Buffer, start: number, end: number): void;
}

/** Most digits of a chunk size, leading zeros included (RFC 9112, 7.1 allows any number). Their value has a limit of its own. */
const MAX_SIZE_DIGITS = 32;
/** Longest chunk extension in bytes. Hardly anyone uses them; they are dropped, as RFC 9112, 7.1.1 wants of who does not know them. */
const MAX_EXTENSION = 1024;
/**
 * How many bytes of framing a body may have beyond what is fair: each chunk of n bytes of data earns 16 + n. Only a sender of long
 * extensions, or of tiny chunks with many leading zeros, comes near it.
 */
const MAX_EXCESS = 16 * 1024;
const FAIR_FRAMING = 16;
/** CR LF after the size and CR LF after the data. */
const LINE_ENDS = 4;

const SEMICOLON = 0x3b;

/** The next expected element. */
const enum State {
  Size,
  /** White space that only a semicolon may follow. */
  BeforeExtension,
  Extension,
  SizeLf,
  Data,
  DataCr,
  DataLf,
  Trailers,
  Done,
  Failed,
}

/** Decodes one body, in whatever pieces it comes, without copying it. {@link reset} makes it ready for the next body. */
export class ChunkedDecoder {
  /** The last chunk and the trailer section have been read. */
  done = false;
  /** The body is malformed: a request gets 400, a response becomes 502, and the connection is closed. */
  failed = false;
  /** Why it failed; follows "client sent". */
  reason = '';
  /** Bytes of body given to the sink so far. */
  length = 0;
  #state = State.Size;
  /** Size of the chunk while it is read, then what is left of its data. */
  #remaining = 0;
  #digits = 0;
  #extension = 0;
  #excess = 0;
  #trailers: TrailerSection | undefined = undefined;

  /**
   * @param isLenient trailers that cannot be passed on are dropped, see {@link TrailerSection}
   * @param limits of the trailer section
   */
  constructor(
    private readonly isLenient = false,
    private readonly limits = TRAILER_LIMITS,
  ) {}

  reset(): void {
    this.done = false;
    this.failed = false;
    this.reason = '';
    this.length = 0;
    this.#state = State.Size;
    this.#remaining = 0;
    this.#digits = 0;
    this.#extension = 0;
    this.#excess = 0;
    this.#trailers = undefined;
  }

  /** Once {@link done}: the trailer fields as they came, each line with its CRLF. Empty when there are none. */
  get trailers(): string {
    return this.done ? (this.#trailers?.text ?? '') : '';
  }

  /**
   * Decodes `input[start, end)` and gives the data in it to `sink`. Returns the offset after the last byte used: `end`, unless the body
   * ended ({@link done}: what follows is the next message) or is malformed ({@link failed}) before.
   */
  decode(input: Buffer, start: number, end: number, sink: ChunkSink): number {
    let at = start;
    while (at < end && this.#state < State.Done) {
      if (this.#state === State.Data) at = this.#takeData(input, at, end, sink);
      else if (this.#state === State.Trailers) at = this.#takeTrailers(input, at, end);
      else if (this.#takeFraming(input[at] as number)) at++;
    }
    return at;
  }

  #takeData(input: Buffer, start: number, end: number, sink: ChunkSink): number {
    const stop = Math.min(end, start + this.#remaining);
    this.#remaining -= stop - start;
    this.length += stop - start;
    if (this.#remaining === 0) this.#state = State.DataCr;
    sink.onData(input, start, stop);
    return stop;
  }

  #takeTrailers(input: Buffer, start: number, end: number): number {
    const section = (this.#trailers ??= new TrailerSection(this.isLenient, this.limits));
    const at = section.take(input, start, end);
    if (section.reason !== '') this.#fail(section.reason);
    if (section.done) {
      this.done = true;
      this.#state = State.Done;
    }
    return at;
  }

  /** Takes one byte between the data. False: the body is malformed. */
  #takeFraming(c: number): boolean {
    const state = this.#state;
    if (state === State.Size) return this.#takeSize(c);
    if (state === State.BeforeExtension) return this.#takeBlank(c);
    if (state === State.Extension) return this.#takeExtension(c);
    if (state === State.DataCr) return c === Char.CR ? this.#expect(State.DataLf) : this.#fail('invalid chunked body');
    if (c !== Char.LF) return this.#fail('invalid chunked body');
    return state === State.SizeLf ? this.#startChunk() : this.#expect(State.Size);
  }

  #takeSize(c: number): boolean {
    const digit = HEX[c] as number;
    if (digit < 16) {
      this.#remaining = this.#remaining * 16 + digit;
      return ++this.#digits <= MAX_SIZE_DIGITS && this.#remaining <= Number.MAX_SAFE_INTEGER ? true : this.#fail('invalid chunk size');
    }
    if (this.#digits === 0) return this.#fail('invalid chunk size');
    if (c === Char.CR) return this.#expect(State.SizeLf);
    return this.#takeBlank(c);
  }

  /** Old senders put white space before the semicolon (RFC 9112, 7.1.1: BWS). At the end of the line it is rejected. */
  #takeBlank(c: number): boolean {
    if (c === SEMICOLON) return this.#expect(State.Extension);
    if (c !== Char.SP && c !== Char.HTAB) return this.#fail('invalid chunk size');
    this.#state = State.BeforeExtension;
    return this.#countExtension();
  }

  #takeExtension(c: number): boolean {
    if (c === Char.CR) return this.#expect(State.SizeLf);
    if (VALUE[c] !== 1) return this.#fail('invalid chunk extension');
    return this.#countExtension();
  }

  #countExtension(): boolean {
    return ++this.#extension <= MAX_EXTENSION ? true : this.#fail('too long chunk extension');
  }

  #startChunk(): boolean {
    const framing = this.#digits + this.#extension + LINE_ENDS;
    this.#excess = Math.max(0, this.#excess + framing - FAIR_FRAMING - this.#remaining);
    if (this.#excess > MAX_EXCESS) return this.#fail('too much chunk framing');
    this.#digits = 0;
    this.#extension = 0;
    return this.#expect(this.#remaining === 0 ? State.Trailers : State.Data);
  }

  #expect(state: State): true {
    this.#state = state;
    return true;
  }

  #fail(reason: string): false {
    this.failed = true;
    this.reason = reason;
    this.#state = State.Failed;
    return false;
  }
}

/** Text before the data of a chunk of `length` bytes. */
export function encodeChunkHead(length: number): string {
  return `${length.toString(16)}\r\n`;
}

/** Text after the data of a chunk. */
export const CHUNK_END = '\r\n';
/** End of a body without trailer fields. */
export const LAST_CHUNK = '0\r\n\r\n';
/** End of a body with trailer fields: they, and an empty line, follow. */
export const LAST_CHUNK_HEAD = '0\r\n';
