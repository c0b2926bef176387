import { read } from 'node:fs';
import { inspect } from 'node:util';
import type { BodySource } from '../../contract/http.js';
import type { BodyPart, RequestOwner } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import { FileSending } from '../../net/transport/connection.js';
import { logFailure, presentHandler } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';
import { endResponse, isResponseBehind, sendFailure, startResponse, writeResponse } from './response.js';

/** Bytes that are read for one request before others have their turn, as long as its client consumes them at once. */
const TURN = 1_048_576;
/** Bytes for which a large buffer is worth its memory. */
const LARGE = 65_536;
/** Bytes that are read although the client has room for fewer: each read is a call of the system. */
const LEAST_READ = 4096;
/** A buffer with less room is sent before anything is added. */
const LEAST_ROOM = 16_384;
/** Parts of a file from here on are sent by the system: what is smaller leaves in one write with its head. */
const LEAST_FILE = 16_384;
/** Where parts that leave with their head may begin. */
const LAST_START = 0x7fffffff;

/** Reasons why a source waits, beside the client. */
const enum Pending {
  Nothing,
  /** A read. */
  Read,
  /** A part of a file finds no room. */
  Room,
  /** The next turn of the event loop. */
  Turn,
}

/** A response whose body is read from where it is into pooled buffers, which the client's socket returns. Of ranges only these are read. */
export class SourceResponse implements RequestOwner, Lender {
  readonly outlivesClient = false;
  readonly #handler: unknown;
  #parts: readonly BodyPart[] = [];
  #at = 0;
  /** Bytes of the present part that were read. */
  #read = 0;
  #buffer: Buffer | undefined = undefined;
  /** Bytes in it that are not sent yet, and the ones that were sent last. */
  #filled = 0;
  #count = 0;
  #pending = Pending.Nothing;
  #isPumping = false;
  #over = false;
  #isClosed = false;
  /** The system may send parts of the file. */
  #sendsFile = false;
  /** Where in the file the body begins. */
  #fileStart = 0;

  constructor(
    private readonly request: Request,
    private readonly source: BodySource,
  ) {
    this.#handler = presentHandler(request);
  }

  start(): void {
    const { request, source } = this;
    if (request.isGone) {
      this.#close();
      return;
    }
    request.owner = this;
    request.response.length = source.length;
    this.#fileStart = source.descriptorStart ?? 0;
    dropForeignDate(request);
    if (!startResponse(request, true)) {
      this.#close();
      request.owner = undefined;
      sendFailure(request);
      return;
    }
    if (!request.sendsBody || source.length === 0) {
      this.#finish();
      return;
    }
    // Filters need the whole body, and what they make of it is cut.
    this.#parts =
      request.filters === undefined && request.ranges !== undefined
        ? request.ranges.parts
        : [{ start: 0, end: source.length < 0 ? Infinity : source.length }];
    this.#sendsFile = request.filters === undefined && request.location.settings.sendFile > 0;
    this.#pump();
  }

  /** A piece that fills little of its buffer is copied if it has to wait, so that little data holds no large buffers. */
  get hasOwnBuffer(): boolean {
    return this.#buffer !== undefined && this.#count * 4 >= this.#buffer.length;
  }

  /** From the stream, which needs the buffer for longer. */
  keepBuffer(): Buffer | undefined {
    if (!this.hasOwnBuffer) return undefined;
    const buffer = this.#buffer;
    this.#buffer = undefined;
    return buffer;
  }

  onDrain(): void {
    if (this.#pending === Pending.Room) this.#pending = Pending.Nothing;
    if (this.#pending === Pending.Nothing) this.#pump();
  }

  /** The client is gone. */
  abort(): void {
    this.request.context.log.write('info', 'client prematurely closed connection while sending response to client', this.request);
    this.#close();
  }

  discard(): void {
    this.#close();
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    const { request } = this;
    for (let turn = TURN; !this.#over && this.#pending === Pending.Nothing;) {
      const part = this.#parts[this.#at];
      if (part === undefined) {
        this.#finish();
        break;
      }
      const awaitsDrain = request.stream.awaitsDrain;
      if (awaitsDrain || isResponseBehind(request)) {
        if (awaitsDrain || request.stream.isBehind) request.stream.watchSending(request);
        // The head needs no window of HTTP/2.
        request.stream.flush(request);
        this.#releaseBuffer();
        break;
      }
      // `Buffer` would be looked up each time: a global property with a getter.
      if (part instanceof Uint8Array) this.#addLines(part);
      else if (turn > 0) turn -= this.#readPiece(part.start + this.#read, part.end);
      else this.#takeTurns();
    }
    this.#isPumping = false;
  }

  /** @returns how many bytes are sent; 0 if the source or the client is waited for, or the source has failed */
  #readPiece(from: number, end: number): number {
    const { source } = this;
    const file = source.descriptor ?? -1;
    if (file >= 0 && end - from < LEAST_FILE) {
      if (this.#sendSmall(file, from, end - from)) return end - from;
    } else if (file >= 0 && this.#sendsFile) {
      const sent = this.#sendPart(file, from, end);
      if (sent >= 0) return sent;
    }
    const buffer = (this.#buffer ??= this.#takeBuffer(end - from));
    const filled = this.#filled;
    const room = Math.max(this.request.stream.room, LEAST_READ);
    const length = Math.min(end - from, buffer.length - filled, room);
    const into = length < buffer.length ? buffer.subarray(filled, filled + length) : buffer;
    try {
      const count = file < 0 ? source.read(into, from) : this.#readFile(file, into, from);
      if (!(count instanceof Promise)) return this.#send(into, count);
      this.#wait(into, count);
    } catch (error) {
      this.#failed(error);
    }
    return 0;
  }

  /** The only part of a body, together with its head. */
  #sendSmall(file: number, from: number, count: number): boolean {
    const { request } = this;
    const start = this.#fileStart + from;
    if (this.#parts.length > 1 || request.filters !== undefined || start > LAST_START) return false;
    if (request.stream.writeFile?.(request, file, start, count) !== true) return false;
    this.#advance(count);
    return true;
  }

  /** @returns below 0: it has to be read, see {@link FileSending} */
  #sendPart(file: number, from: number, end: number): number {
    const { request } = this;
    const most = Math.min(end - from, request.location.settings.sendFile);
    const start = this.#fileStart + from;
    if (request.context.transport.isCached?.(file, start, most) === false) return FileSending.Impossible;
    this.#flush();
    this.#releaseBuffer();
    const sent = request.stream.sendFile?.(request, file, start, most) ?? FileSending.Impossible;
    if (sent > 0) {
      this.#advance(sent);
      return sent;
    }
    if (sent === FileSending.NoRoom) {
      this.#pending = Pending.Room;
      request.stream.watchSending(request);
      return 0;
    }
    // Reading finds out why.
    this.#sendsFile = false;
    return FileSending.Impossible;
  }

  /** A disk is waited for by another thread. */
  #readFile(file: number, into: Buffer, from: number): number | Promise<number> {
    const { source } = this;
    const { transport } = this.request.context;
    if (transport.readCached === undefined) return source.read(into, from);
    const start = this.#fileStart + from;
    const count = transport.readCached(file, into, start);
    if (count === undefined) return readElsewhere(file, into, start).then((read) => (read > 0 ? read : source.read(into, from)));
    return count > 0 ? count : source.read(into, from);
  }

  /** Nothing is held for a client that has to consume something first. */
  #releaseBuffer(): void {
    if (this.#buffer === undefined || this.#filled > 0) return;
    this.request.context.buffers.give(this.#buffer);
    this.#buffer = undefined;
  }

  #takeBuffer(wanted: number): Buffer {
    const { context, filters, stream } = this.request;
    return wanted > LARGE && filters === undefined && stream.takesLargePieces ? context.buffers.takeLarge() : context.buffers.take();
  }

  #send(room: Buffer, count: number): number {
    if (!(count > 0 && count <= room.length)) {
      // The length is out: only an early end of the connection shows that the rest is missing.
      if (count === 0 && this.source.length < 0) this.#finish();
      else if (count === 0) this.#cutOff();
      else this.#failed(new TypeError(`a body source must read up to ${room.length} bytes, not ${inspect(count, { depth: 0 })}`));
      return 0;
    }
    this.#filled += count;
    if (!this.#advance(count)) this.#flush();
    return count;
  }

  /** Bytes of the present part are on their way. @returns true: these were its last ones */
  #advance(count: number): boolean {
    this.#read += count;
    const part = this.#parts[this.#at];
    if (part === undefined || part instanceof Uint8Array || part.start + this.#read < part.end) return false;
    this.#read = 0;
    this.#endPart();
    return true;
  }

  /** Lines of a multipart body, which leave with the ranges around them: many small ranges are few pieces. */
  #addLines(lines: Buffer): void {
    const { request } = this;
    if (lines.length > LEAST_ROOM) {
      this.#flush();
      request.stream.write(request, lines, 0, lines.length, undefined);
    } else {
      lines.copy((this.#buffer ??= this.#takeBuffer(request.response.length)), this.#filled);
      this.#filled += lines.length;
    }
    this.#endPart();
  }

  #endPart(): void {
    this.#at++;
    if (this.#at === this.#parts.length || (this.#buffer?.length ?? 0) - this.#filled < LEAST_ROOM) this.#flush();
  }

  #flush(): void {
    const { request } = this;
    const buffer = this.#buffer;
    const filled = this.#filled;
    if (buffer === undefined || filled === 0) return;
    this.#filled = 0;
    this.#count = filled;
    if (request.filters === undefined) request.stream.write(request, buffer, 0, filled, this);
    else writeResponse(request, buffer, 0, filled, this);
  }

  #wait(room: Buffer, reading: Promise<number>): void {
    this.#pending = Pending.Read;
    if (this.source.grows === true) this.request.stream.flush(this.request);
    reading.then(
      (count) => {
        this.#pending = Pending.Nothing;
        if (this.#over) {
          this.#close();
          return;
        }
        this.request.context.clock.refresh();
        this.#send(room, count);
        this.#pump();
      },
      (error: unknown) => {
        this.#pending = Pending.Nothing;
        if (this.#over) this.#close();
        else this.#failed(error);
      },
    );
  }

  #takeTurns(): void {
    this.#pending = Pending.Turn;
    setImmediate(() => {
      this.#pending = Pending.Nothing;
      this.request.context.clock.refresh();
      this.#pump();
    });
  }

  #failed(error: unknown): void {
    logFailure(this.request, error, this.#handler);
    this.#cutOff();
  }

  #cutOff(): void {
    const { request } = this;
    this.#close();
    request.owner = undefined;
    if (!request.finished) request.stream.abort(request);
  }

  #finish(): void {
    const { request } = this;
    this.#close();
    request.owner = undefined;
    endResponse(request);
  }

  /** Nothing is read any more. A read in progress still needs source and buffer: then they are released after it. */
  #close(): void {
    this.#over = true;
    if (this.#pending === Pending.Read || this.#isClosed) return;
    this.#isClosed = true;
    if (this.#buffer !== undefined) this.request.context.buffers.give(this.#buffer);
    this.#buffer = undefined;
    try {
      this.source.close();
    } catch (error) {
      logFailure(this.request, error, this.#handler);
    }
  }
}

/** @returns 0 also for an error */
function readElsewhere(file: number, into: Buffer, from: number): Promise<number> {
  return new Promise((resolve) => {
    read(file, into, 0, into.length, from, (error, count) => resolve(error === null ? count : 0));
  });
}

/** A file that is sent with another status is the page of an error: its date is not that of what the client asked for (nginx). */
export function dropForeignDate({ errorStatus, response }: Request): void {
  if (errorStatus !== 0 && errorStatus !== 200 && errorStatus !== 206 && errorStatus !== 304) response.lastModified = '';
}
