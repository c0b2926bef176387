/** Reading a regular expression of PCRE: its characters, escapes and sets, in any place. */
import { complement, escapedSet, LAST_BYTE, posixSet, type CharacterSet } from './character-set.js';
import { ArgError } from '../contract/spec.js';
import { propertySet } from './unicode-property.js';

/** Escapes outside of brackets that are neither a character nor a set. A match starts where the text does, so `\G` is its start. */
export const ASSERTIONS: Readonly<Record<string, string>> = {
  A: '^',
  B: String.raw`\B`,
  C: '[^]',
  G: '^',
  N: String.raw`[^\n]`,
  // Never the first half of a line end of two characters.
  R: String.raw`(?:\r\n|(?!\r\n)[\n-\r\x85])`,
  Z: String.raw`(?=\n?$)`,
  b: String.raw`\b`,
  z: '$',
};

const CONTROLS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 };

/** How what is not there looks, and what it is called. */
const UNSUPPORTED: readonly (readonly [looks: RegExp, name: string])[] = [
  [/^\(\*/, 'verbs'],
  [/^\(\?>/, 'atomic groups'],
  [/^\(\?\|/, 'groups that reset numbers'],
  [/^\(\?\(/, 'conditional groups'],
  [/^\(\?C/, 'callouts'],
  [/^\(\?(?:R|[-+]?\d|&|P>)|^\\g[<']/, 'recursion and subroutines'],
  [/^\(\?[\^a-zA-Z-]*[xmnUJ^]/, 'other options than "i" and "s"'],
  [/^\\[KX]/, '"\\K" and "\\X"'],
];
export const UNSUPPORTED_HINT = 'write it without; docs/configuration.md, "Differences", says what of PCRE there is not';

/** The text of an expression, from the place on that was read last. */
export class PatternSource {
  readonly #source: string;
  #at = 0;

  constructor(private readonly written: string) {
    this.#source = withoutQuoting(Buffer.from(written).latin1Slice());
  }

  get ended(): boolean {
    return this.#at >= this.#source.length;
  }

  charAt(offset: number): string {
    return this.#source.charAt(this.#at + offset);
  }

  /** Match of a pattern that begins with `^` at this place. */
  match(pattern: RegExp): RegExpExecArray | null {
    return pattern.exec(this.#source.slice(this.#at));
  }

  skip(length: number): void {
    this.#at += length;
  }

  /** The byte that an escape stands for; goes on after it. */
  escapedByte(): number {
    const [text, braced, digits, octal, bracedOctal, control, letter = ''] =
      this.match(/^\\(?:x(?:\{([\da-fA-F]+)\}|([\da-fA-F]{0,2}))|([0-7]{1,3})|o\{([0-7]+)\}|c([ -~])|([^]))/) ?? [];
    if (text === undefined) return this.refuse('\\ at end of pattern');
    let code = CONTROLS[letter] ?? letter.charCodeAt(0);
    if (braced !== undefined || digits !== undefined) code = Number.parseInt(braced ?? `0${digits}`, 16);
    else if (octal !== undefined || bracedOctal !== undefined) code = Number.parseInt(octal ?? bracedOctal ?? '', 8);
    else if (control !== undefined) code = control.toUpperCase().charCodeAt(0) ^ 0x40;
    if (code > LAST_BYTE) this.refuse('character code point value in \\x{} or \\o{} is too large');
    if (/[a-z\d]/i.test(letter) && CONTROLS[letter] === undefined) this.refuse('unrecognized character follows \\');
    this.#at += text.length;
    return code;
  }

  /** True if a property comes next, `\p` or `\P`. */
  get hasProperty(): boolean {
    return this.match(/^\\[pP]/) !== null;
  }

  /** The bytes that have a property, or with `\P` the bytes that do not; goes on after it. */
  property(): CharacterSet {
    const [text, letter, short, not = '', name] = this.match(/^\\([pP])(?:([A-Za-z])|\{\s*(\^?)([^}]*)\})/) ?? [];
    if (text === undefined) return this.refuse(String.raw`malformed \P or \p sequence`);
    const set = propertySet(short ?? name ?? '');
    if (set === undefined) return this.refuse(String.raw`unknown property after \P or \p`);
    this.#at += text.length;
    return (letter === 'P') === (not === '') ? complement(set) : set;
  }

  /** One character, a range or a set between brackets. */
  range(caseless: boolean): CharacterSet {
    const first = this.#bracketed(caseless);
    if (this.match(/^-[^\]]/) === null) return typeof first === 'number' ? [[first, first]] : first;
    this.#at++;
    const last = this.#bracketed(caseless);
    if (typeof first !== 'number' || typeof last !== 'number') return this.refuse('invalid range in character class');
    if (last < first) this.refuse('range out of order in character class');
    return [[first, last]];
  }

  #bracketed(caseless: boolean): number | CharacterSet {
    const [named, name] = this.match(/^\[:([^\]]*):\]/) ?? [];
    if (named !== undefined) {
      const set = posixSet(name ?? '', caseless);
      this.#at += named.length;
      return set ?? this.refuse('unknown POSIX class name');
    }
    if (this.match(/^\[([.=])[^\]]*\1\]/) !== null) this.refuse('POSIX collating elements are not supported');
    if (this.charAt(0) !== '\\') return this.#source.charCodeAt(this.#at++);
    return this.#escapeInBrackets();
  }

  #escapeInBrackets(): number | CharacterSet {
    this.refuseUnsupported();
    if (this.hasProperty) return this.property();
    const letter = this.charAt(1);
    const set = escapedSet(letter);
    if (set === undefined && letter !== 'b') {
      if (ASSERTIONS[letter] !== undefined) this.refuse('escape sequence is invalid in character class');
      return this.escapedByte();
    }
    this.#at += 2;
    return set ?? 8;
  }

  refuseUnsupported(): void {
    for (const [looks, name] of UNSUPPORTED) {
      if (this.match(looks) !== null) this.refuse(`${name} are not supported`, UNSUPPORTED_HINT);
    }
  }

  refuse(reason: string, hint?: string): never {
    const rest = Buffer.from(this.#source.slice(this.#at), 'latin1').toString();
    throw new ArgError(`invalid regular expression "${this.written}": ${reason}${rest === '' ? '' : ` at "${rest}"`}`, hint);
  }
}

/** `\Q...\E` with a backslash before each of its characters instead. */
function withoutQuoting(source: string): string {
  return source.replaceAll(/\\Q([^]*?)(?:\\E|$)|\\E|\\[^]/g, (text, quoted: string | undefined) => {
    if (quoted !== undefined) return quoted.replaceAll(/\W/g, String.raw`\$&`);
    return text === String.raw`\E` ? '' : text;
  });
}
