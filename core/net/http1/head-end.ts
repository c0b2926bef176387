/** Finds the end of a head in input that arrives in pieces. */
import { Char } from './characters.js';
import { HEAD_TOO_LARGE, type HeadLimits } from './message-head.js';

/** Empty lines skipped before a request line (RFC 9112, 2.2): some old clients send one behind a body. */
export const REQUEST_EMPTY_LINES = 4;

/**
 * The search for one head. It goes on where it stopped when more input has come, and refuses what can no longer become a head, so that a
 * sender of garbage or of line feeds alone is answered at once and not after a time-out.
 */
export class HeadEnd {
  /** Offset in the input of the first byte of the head, behind skipped empty lines. Set by {@link find}. */
  start = 0;
  /** Why the input was refused, without the sender; empty otherwise. */
  reason = '';
  /** As `code` of a head: nginx's code of the refusal, 0: none. */
  code = 0;
  /** Offsets below are relative to the start of the input given to find. Where the search for the empty line goes on. */
  #next = 0;
  /** How far the bytes of an incomplete head have been looked at one by one. */
  #checked = 0;
  #lineStart = 0;
  #firstLine = true;

  /** @param emptyLines how many may stand before the head: {@link REQUEST_EMPTY_LINES}, 0 for responses */
  constructor(private readonly emptyLines = REQUEST_EMPTY_LINES) {}

  /** For the next head. */
  reset(): void {
    this.reason = '';
    this.code = 0;
    this.#next = 0;
    this.#checked = 0;
    this.#lineStart = 0;
    this.#firstLine = true;
  }

  /**
   * Looks for the end of the head that begins at `start` of `input`. When it is called again with more input, the bytes from `start`
   * on must be the same as before and more; offset and buffer may differ. Returns the offset behind the head's empty line; 0: more
   * input is needed; below 0: refused, the negative status to answer with. {@link reset} it before the next head.
   */
  find(input: Uint8Array, start: number, limits: HeadLimits): number {
    const begin = skipEmptyLines(input, start, this.emptyLines);
    this.start = begin;
    const end = this.#findEmptyLine(input, start, begin);
    if (end === 0) return this.#checkIncomplete(input, start, begin, limits);
    if (end - begin <= limits.total) return end;
    const line = input.indexOf(Char.LF, begin) + 1 - begin;
    return line > limits.line ? this.#refuse(414, 414, 'too long URI') : this.#refuse(400, HEAD_TOO_LARGE, 'too large request');
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

  #checkIncomplete(input: Uint8Array, start: number, begin: number, limits: HeadLimits): number {
    const { length } = input;
    let at = Math.max(begin, start + this.#checked);
    if (this.#checked < begin - start) this.#lineStart = begin - start;
    for (; at < length; at++) {
      const c = input[at] as number;
      if (at > begin && input[at - 1] === Char.CR && c !== Char.LF) return this.#refuseByte();
      if (c >= Char.SP ? c === 0x7f : c !== Char.CR && c !== Char.HTAB && c !== Char.LF) return this.#refuseByte();
      if (c !== Char.LF) continue;
      if (at === begin || input[at - 1] !== Char.CR) return this.#refuseByte();
      this.#lineStart = at + 1 - start;
      this.#firstLine = false;
    }
    this.#checked = length - start;
    return this.#checkLimits(length - begin, length - start - this.#lineStart, limits);
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

function skipEmptyLines(input: Uint8Array, start: number, most: number): number {
  let at = start;
  for (let lines = 0; lines < most && input[at] === Char.CR && input[at + 1] === Char.LF; lines++) at += 2;
  return at;
}
