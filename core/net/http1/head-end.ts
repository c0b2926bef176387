/** Finds the end of a head in input that arrives in pieces. */
import { Char, VALUE } from './characters.js';
import { HEAD_TOO_LARGE, type HeadLimits, type MessageHead } from './message-head.js';

/** Empty lines skipped before a request line (RFC 9112, 2.2): some old clients send one after a body. */
export const REQUEST_EMPTY_LINES = 4;

/**
 * The search for one head. It goes on where it stopped when more input has come, and rejects what can no longer become a head, so that a
 * sender of garbage gets its response at once and not after a timeout.
 *
 * A line may end with LF alone (RFC 9112, 2.2). Heads whose lines all end with CRLF, nearly all of them, are found by looking at every
 * fourth byte; a bare LF is only seen where bytes are looked at one by one, here or by the parser. See {@link parseFound}.
 */
export class HeadEnd {
  /** Offset in the input of the first byte of the head, after skipped empty lines. Set by {@link find}. */
  start = 0;
  /** Offset after the empty line of the head. Set by {@link parseFound}. */
  end = 0;
  /** Why the input was rejected, without the sender; empty otherwise. */
  reason = '';
  /** As `code` of a head: nginx's code of the rejection, 0: none. */
  code = 0;
  /** Offsets below are relative to the start of the input given to find. Where the search for the empty line goes on. */
  #next = 0;
  /** How far bytes have been looked at one by one. */
  #checked = 0;
  #lineStart = 0;
  #firstLine = true;
  /** A line ends with LF alone. */
  #bareLf = false;

  /** @param emptyLines how many may be before the head: {@link REQUEST_EMPTY_LINES}, 0 for responses */
  constructor(private readonly emptyLines = REQUEST_EMPTY_LINES) {}

  /** For the next head. */
  reset(): void {
    this.reason = '';
    this.code = 0;
    this.#next = 0;
    this.#checked = 0;
    this.#lineStart = 0;
    this.#firstLine = true;
    this.#bareLf = false;
  }

  /**
   * Looks for the end of the head that begins at `start` of `input`. When it is called again with more input, the bytes from `start`
   * on must be the same as before and more; offset and buffer may differ. Returns the offset after the head's empty line; 0: more
   * input is needed; below 0: rejected, the negative status to respond with. {@link reset} it before the next head.
   */
  find(input: Uint8Array, start: number, limits: HeadLimits): number {
    const begin = skipEmptyLines(input, start, this.emptyLines);
    this.start = begin;
    const end = this.#bareLf ? 0 : this.#findEmptyLine(input, start, begin);
    if (end === 0) return this.#scan(input, start, begin, limits);
    return end - begin <= limits.total ? end : this.#shorten(input, start, begin, end, limits);
  }

  /** As {@link find}, for a head that it has found and that has a bare LF somewhere: it may end before. */
  findByLines(input: Uint8Array, start: number, limits: HeadLimits): number {
    return this.#scan(input, start, this.start, limits);
  }

  /** The text of the head that was found, each line with its CRLF. */
  text(input: Buffer, end: number): string {
    const text = input.latin1Slice(this.start, end);
    return this.#bareLf ? text.replaceAll(/\r?\n/g, '\r\n') : text;
  }

  /** Looks at every fourth byte only, as CR LF CR LF cannot hide between: compare the last byte, then see how far to go. */
  #findEmptyLine(input: Uint8Array, start: number, begin: number): number {
    const { length } = input;
    let at = Math.max(begin + 3, start + this.#next);
    while (at < length) {
      const c = input[at] as number;
      if (c > Char.CR) at += 4;
      else if (c === Char.CR) at++;
      else if (c !== Char.LF) at += 4;
      else if (input[at - 2] === Char.LF && input[at - 1] === Char.CR && input[at - 3] === Char.CR) return at + 1;
      else at += 2;
    }
    this.#next = at - start;
    return 0;
  }

  /** A head that ends at `end` is over the limit, unless an empty line of LF ends the head before. */
  #shorten(input: Uint8Array, start: number, begin: number, end: number, limits: HeadLimits): number {
    const byLines = this.#scan(input, start, begin, limits);
    if (byLines > 0 && byLines < end) return byLines;
    const line = input.indexOf(Char.LF, begin) + 1 - begin;
    return line > limits.line ? this.#refuse(414, 414, 'too long URI') : this.#refuse(400, HEAD_TOO_LARGE, 'too large request');
  }

  /** Looks at each byte not seen yet, up to an empty line or the end of the input. Returns what {@link find} does. */
  #scan(input: Uint8Array, start: number, begin: number, limits: HeadLimits): number {
    const { length } = input;
    let at = Math.max(begin, start + this.#checked);
    if (this.#checked < begin - start) this.#lineStart = begin - start;
    for (; at < length; at++) {
      const c = input[at] as number;
      const afterCr = at > begin && input[at - 1] === Char.CR;
      if (c === Char.LF) {
        if (!afterCr) this.#bareLf = true;
        const lineLength = at - start - this.#lineStart - (afterCr ? 1 : 0);
        if (lineLength === 0) return this.#firstLine ? this.#refuseByte() : this.#checkTotal(at + 1, begin, limits);
        this.#lineStart = at + 1 - start;
        this.#firstLine = false;
      } else if (afterCr || (VALUE[c] !== 1 && c !== Char.CR)) return this.#refuseByte();
    }
    this.#checked = length - start;
    return this.#checkLimits(length - begin, length - start - this.#lineStart, limits);
  }

  #checkTotal(end: number, begin: number, limits: HeadLimits): number {
    return end - begin <= limits.total ? end : this.#refuse(400, HEAD_TOO_LARGE, 'too large request');
  }

  #checkLimits(total: number, line: number, limits: HeadLimits): number {
    if (this.#firstLine && line > limits.line) return this.#refuse(414, 414, 'too long URI');
    if (!this.#firstLine && line > limits.field) return this.#refuse(400, HEAD_TOO_LARGE, 'too long header line');
    return total > limits.total ? this.#refuse(400, HEAD_TOO_LARGE, 'too large request') : 0;
  }

  #refuseByte(): number {
    return this.#refuse(400, 400, this.#firstLine ? 'invalid request' : 'invalid header line');
  }

  #refuse(status: number, code: number, reason: string): number {
    this.reason = reason;
    this.code = code;
    return -status;
  }
}

/**
 * Parses the head that `search` has found from `start` of `input` to `end`, and sets `search.end`. If the parser meets a bare LF, the head
 * is searched again line by line and parsed with CRLF in its place. Returns what `parse` returns: 0, or the status of the rejection.
 */
export function parseFound<Head extends MessageHead>(
  search: HeadEnd,
  input: Buffer,
  start: number,
  end: number,
  limits: HeadLimits,
  head: Head,
  parse: (head: Head, text: string, limits: HeadLimits) => number,
): number {
  search.end = end;
  const status = parse(head, search.text(input, end), limits);
  if (!head.bareLf) return status;
  search.end = search.findByLines(input, start, limits);
  if (search.end > 0) return parse(head, search.text(input, search.end), limits);
  head.forget();
  return head.refuse(-search.end, search.reason);
}

function skipEmptyLines(input: Uint8Array, start: number, most: number): number {
  let at = start;
  for (let lines = 0; lines < most; lines++) {
    if (input[at] === Char.LF) at++;
    else if (input[at] === Char.CR && input[at + 1] === Char.LF) at += 2;
    else break;
  }
  return at;
}
