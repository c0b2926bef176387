import { HeadEnd, parseFound } from '../../../net/http1/head-end.js';
import { parseLoneLine, parseRequestHead } from '../../../net/http1/request-head.js';
import type { HttpContext } from '../../request/context.js';
import type { RequestServer } from '../../site/virtual-server.js';
import { type MatchedServer, limitsDiffer, serverOfPart, settleServer } from '../head-server.js';
import type { ServedListener, SocketClient } from '../socket-client.js';
import type { ClientInput } from './client-input.js';

/** Most that the log shows of a request line that was rejected. */
const LOGGED_LINE = 2048;

/** Result of reading the input. */
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
  /** The server that the head is for, with the captures of its name. */
  found: MatchedServer;
  /** The search for the end of a head that came in part. */
  #search: HeadEnd | undefined = undefined;
  /** Whose limits hold until the head is whole: the default server's, or those of the server it turned out to be for. */
  #server: RequestServer;

  constructor(
    private readonly context: HttpContext,
    private readonly listener: ServedListener,
    private readonly client: SocketClient,
  ) {
    this.#server = listener.names.defaultServer;
    this.found = { server: this.#server, captures: undefined };
  }

  /** A part of a head is here. */
  get hasPartialHead(): boolean {
    return this.#search !== undefined;
  }

  read(input: ClientInput): Reading {
    const { context, listener } = this;
    const { bytes } = input;
    if (bytes === undefined) return Reading.Partial;
    let search = this.#search;
    if (search === undefined) {
      search = context.headEnd;
      search.reset();
      this.#server = listener.names.defaultServer;
    }
    let end = search.find(bytes, input.at, this.#server.settings.headLimits);
    if (end < 0 && this.#turnTo(input, search)) end = search.find(bytes, input.at, this.#server.settings.headLimits);
    if (end === 0) {
      this.#remember(search);
      return Reading.Partial;
    }
    this.forget();
    if (end < 0) return this.#reject(search.code, `client sent ${search.reason}`, input);
    const { head } = context;
    const { headLimits } = this.#server.settings;
    parseFound(search, bytes, input.at, end, headLimits, head, parseRequestHead);
    this.found = settleServer(head, listener.names, this.client, headLimits);
    if (head.code !== 0) return this.#reject(head.code, head.reason, input);
    head.receivedLength = search.end - search.start;
    input.advance(search.end);
    return Reading.Complete;
  }

  /** The received part will not become whole. Treats it as a rejected head. */
  abandon(input: ClientInput, code: number, reason: string): void {
    if (this.#search !== undefined) this.#turnTo(input, this.#search);
    this.forget();
    this.#reject(code, reason, input);
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

  /**
   * Finds the server of a head that was rejected before its end. True: it has other limits than the current ones, and the search starts
   * again under them. They change once a head.
   */
  #turnTo({ bytes, at }: ClientInput, search: HeadEnd): boolean {
    const { context, listener, client } = this;
    const before = this.#server;
    const { headLimits } = before.settings;
    const part = bytes?.latin1Slice(search.start, Math.min(bytes.length, at + headLimits.total)) ?? '';
    const server = serverOfPart(context.head, part, listener.names, client, headLimits);
    this.found = { server, captures: undefined };
    if (before !== listener.names.defaultServer || !limitsDiffer(server.settings.headLimits, headLimits)) return false;
    this.#server = server;
    search.reset();
    return true;
  }

  #reject(code: number, reason: string, input: ClientInput): Reading {
    this.code = code;
    this.reason = reason;
    this.line = firstLine(input);
    parseLoneLine(this.context.head, this.line, this.found.server.settings.headLimits);
    return Reading.Rejected;
  }
}

/** For the log, of bytes other than a request. Empty lines may be before it. */
function firstLine({ bytes, at }: ClientInput): string {
  const text = bytes?.latin1Slice(at, Math.min(at + LOGGED_LINE, bytes.length)) ?? '';
  return /[^\r\n]+/.exec(text)?.[0] ?? '';
}
