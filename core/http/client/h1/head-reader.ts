import { HeadEnd, parseFound } from '../../../net/http1/head-end.js';
import type { HeadLimits } from '../../../net/http1/message-head.js';
import { parseLoneLine, parseRequestHead } from '../../../net/http1/request-head.js';
import type { ClientInput } from './client-input.js';
import type { HttpContext } from '../../request/context.js';

/** Most that the log shows of a request line that was rejected. */
const LOGGED_LINE = 2048;

/** What a look at the input came to. */
export const enum Reading {
  /** More input is needed. */
  Partial,
  /** The head is in the scratch of the parser, and used up in the input. */
  Complete,
  /** This can become no request: `code`, `reason` and `line` tell more. */
  Rejected,
}

/** Reads the heads of one connection's requests, whole or in pieces, into the scratch of the parser (`HttpContext.head`). */
export class HeadReader {
  /** Of a rejected head: the status to respond with, or nginx's own code for it (494: too large). */
  code = 0;
  /** Of a rejected head: why, for the error log. */
  reason = '';
  /** Of a rejected head: what came as its request line, for the access log. The scratch of the parser holds it if it is sound, and nothing else. */
  line = '';
  /** The search for the end of a head that came in part. */
  #search: HeadEnd | undefined = undefined;

  constructor(private readonly context: HttpContext) {}

  /** A part of a head is here. */
  get hasPartialHead(): boolean {
    return this.#search !== undefined;
  }

  read(input: ClientInput, limits: HeadLimits): Reading {
    const { context } = this;
    const { bytes } = input;
    if (bytes === undefined) return Reading.Partial;
    let search = this.#search;
    if (search === undefined) {
      search = context.headEnd;
      search.reset();
    }
    const end = search.find(bytes, input.at, limits);
    if (end === 0) {
      this.#remember(search);
      return Reading.Partial;
    }
    this.forget();
    if (end < 0) return this.#reject(search.code, `client sent ${search.reason}`, input, limits);
    const { head } = context;
    if (parseFound(search, bytes, input.at, end, limits, head, parseRequestHead) !== 0)
      return this.#reject(head.code, head.reason, input, limits);
    input.advance(search.end);
    return Reading.Complete;
  }

  /** What is here in part will not become whole. Makes of it what is made of a rejected head. */
  abandon(input: ClientInput, limits: HeadLimits, code: number, reason: string): void {
    this.forget();
    this.#reject(code, reason, input, limits);
  }

  /** No more of the head that is here in part will come. */
  forget(): void {
    if (this.#search === undefined) return;
    this.#search = undefined;
    this.context.figures.countReading(-1);
  }

  /** Keeps how far a head was searched. Others go on with a new scratch. */
  #remember(search: HeadEnd): void {
    if (this.#search !== undefined) return;
    this.#search = search;
    this.context.headEnd = new HeadEnd();
    this.context.figures.countReading(1);
  }

  #reject(code: number, reason: string, input: ClientInput, limits: HeadLimits): Reading {
    this.code = code;
    this.reason = reason;
    this.line = firstLine(input);
    parseLoneLine(this.context.head, this.line, limits);
    return Reading.Rejected;
  }
}

/** For the log, of bytes that are no request. Empty lines may stand before it. */
function firstLine({ bytes, at }: ClientInput): string {
  const text = bytes?.latin1Slice(at, Math.min(at + LOGGED_LINE, bytes.length)) ?? '';
  return /[^\r\n]+/.exec(text)?.[0] ?? '';
}
