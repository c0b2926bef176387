/** The trailer section of a chunked body (RFC 9112, 7.1.2). */
import { Char, TOKEN } from './characters.js';
import { parseFields } from './field-section.js';
import { FieldKind, type HeadLimits, MessageHead } from './message-head.js';

/** Where no others are given. */
export const TRAILER_LIMITS: HeadLimits = { line: 0, field: 4096, total: 8192, fields: 100 };

/** Trailer fields are read with the rules of a head's fields. */
class TrailerFields extends MessageHead {
  constructor() {
    super('client');
  }
}

/**
 * Collects a trailer section up to its empty line, then checks it. One of a client that is malformed makes its request so; of a member's, lines
 * that cannot be passed on are dropped, as a response is complete without them (RFC 9110, 6.5.1).
 */
export class TrailerSection {
  done = false;
  /** Why the section is rejected; empty: it is not. */
  reason = '';
  /** The field lines, each with its CRLF. */
  text = '';
  /** Bytes of the current line so far, without CR. */
  #line = 0;
  #cr = false;

  /** @param isLenient invalid lines are dropped */
  constructor(
    private readonly isLenient: boolean,
    private readonly limits: HeadLimits,
  ) {}

  /** Takes bytes of `input[start, end)` up to the end of the section. Returns the offset after the last one used. */
  take(input: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at++) {
      const c = input[at] as number;
      if (this.#cr !== (c === Char.LF) && !this.isLenient) return this.#refuse(at);
      this.#cr = c === Char.CR;
      if (c !== Char.CR && c !== Char.LF) this.#line++;
      if (c !== Char.LF) continue;
      if (this.#line === 0) return this.#conclude(input, start, at + 1);
      this.#line = 0;
    }
    return this.#collect(input, start, end);
  }

  #collect(input: Buffer, start: number, end: number): number {
    this.text += input.latin1Slice(start, end);
    if (this.text.length > this.limits.total) this.reason = 'too long trailer section';
    return end;
  }

  #conclude(input: Buffer, start: number, end: number): number {
    this.#collect(input, start, end);
    if (this.isLenient) this.text = validLines(this.text, this.limits);
    else {
      if (this.text.length > 2 && this.reason === '') this.reason = checkTrailers(this.text, this.limits);
      this.text = this.text.slice(0, -2);
    }
    this.done = this.reason === '';
    return end;
  }

  #refuse(at: number): number {
    this.reason = 'invalid trailer field';
    return at;
  }
}

/** The lines that can be passed on, each with its CRLF. */
function validLines(text: string, limits: HeadLimits): string {
  return text
    .split(/\r?\n/)
    .filter((line) => line !== '' && checkTrailers(`${line}\r\n\r\n`, limits) === '')
    .map((line) => `${line}\r\n`)
    .join('');
}

/** Why the fields in `text`, which ends with an empty line, cannot be taken; empty: they can. */
function checkTrailers(text: string, limits: HeadLimits): string {
  const head = new TrailerFields();
  head.load(text);
  if (parseFields(head, limits, TOKEN) !== 0) return 'invalid trailer field';
  // RFC 9110, 6.5.1: nothing in a trailer may change how the message is framed or routed.
  for (let i = 0; i < head.count; i++) {
    if (head.kinds[i] !== FieldKind.Ordinary) return 'forbidden trailer field';
  }
  return '';
}
