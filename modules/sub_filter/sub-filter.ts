import type { BodyFilter, BodyOutput, HttpRequest } from '../../core/contract/http.js';
import { lowerCase, type Pattern, type Substitutions } from './substitutions.js';

/**
 * Replaces texts in one body. Only a possible beginning of a text at the end of a piece is held back until the next one.
 * Where several texts begin at one place, the one that is written first in the configuration counts.
 */
export class SubFilter implements BodyFilter {
  #patterns: readonly Pattern[];
  /** Held back: the beginning of one of the patterns. */
  #held = '';
  readonly #replacements = new Map<Pattern, string>();

  constructor(
    private readonly substitutions: Substitutions,
    private readonly once: boolean,
    private readonly request: HttpRequest,
  ) {
    this.#patterns = substitutions.patterns;
  }

  write(piece: Buffer, out: BodyOutput): void {
    if (this.#patterns.length === 0 && this.#held === '') out.write(piece);
    else this.#send(this.#replace(this.#held + piece.latin1Slice(), false), out);
  }

  end(out: BodyOutput): void {
    if (this.#held !== '') this.#send(this.#replace(this.#held, true), out);
    out.end();
  }

  #send(text: string, out: BodyOutput): void {
    if (text !== '') out.write(Buffer.from(text, 'latin1'));
  }

  /** @param isWhole nothing follows */
  #replace(text: string, isWhole: boolean): string {
    let sent = '';
    let from = 0;
    while (this.#patterns.length > 0) {
      const found = this.#find(text, from);
      const beginning = isWhole ? undefined : this.#beginningAtEnd(text, from, found);
      if (found === undefined || (beginning !== undefined && isBefore(beginning, found))) {
        this.#held = beginning === undefined ? '' : text.slice(beginning.at);
        return sent + text.slice(from, beginning?.at);
      }
      sent += text.slice(from, found.at) + this.#replacementOf(found.pattern);
      from = found.at + found.pattern.text.length;
      if (this.once) this.#patterns = this.#patterns.filter((pattern) => pattern !== found.pattern);
    }
    this.#held = '';
    return sent + text.slice(from);
  }

  #find(text: string, from: number): Place | undefined {
    const expression = this.substitutions.expression(this.#patterns);
    expression.lastIndex = from;
    const match = expression.exec(text);
    if (match === null) return undefined;
    const order = match.findIndex((group, at) => at > 0 && group !== undefined) - 1;
    return { at: match.index, order, pattern: this.#patterns[order]! };
  }

  /** Where the text ends with the beginning of a pattern: the longest such end, and the first such pattern. Not after what was found. */
  #beginningAtEnd(text: string, from: number, found: Place | undefined): Place | undefined {
    const longest = Math.max(...this.#patterns.map((pattern) => pattern.text.length)) - 1;
    const first = Math.max(from, text.length - longest);
    if (found !== undefined && found.at < first) return undefined;
    const end = lowerCase(text.slice(first));
    for (let at = 0; at < end.length; at++) {
      const rest = end.slice(at);
      const order = this.#patterns.findIndex((pattern) => pattern.text.length > rest.length && pattern.text.startsWith(rest));
      if (order >= 0) return { at: first + at, order, pattern: this.#patterns[order]! };
    }
    return undefined;
  }

  /** Made once for a response. */
  #replacementOf(pattern: Pattern): string {
    const known = this.#replacements.get(pattern);
    if (known !== undefined) return known;
    const text = pattern.replacement.of(this.request);
    this.#replacements.set(pattern, text);
    return text;
  }
}

interface Place {
  readonly at: number;
  /** Among the patterns. */
  readonly order: number;
  readonly pattern: Pattern;
}

function isBefore(one: Place, other: Place): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
