/**
 * Regular expressions of the configuration. They are written for PCRE, as nginx compiles them: over bytes, and with a `$` that also
 * stands before a last line feed. Here they become expressions of JavaScript that match the same. What JavaScript has nothing for is
 * refused: read as something else it would open what a location is to close.
 */
import { escapedSet, LAST_BYTE, posixSet, writeByte, writeSet, type CharacterSet } from './character-set.js';
import { ArgError } from './spec.js';

/**
 * Compiles an expression. Strings of requests are strings of bytes (latin1); so is what it is matched with.
 * @throws ArgError for what PCRE refuses, and for what has no counterpart
 */
export function compilePattern(source: string, caseless: boolean): RegExp {
  const translated = new Translator(source, caseless).translate();
  try {
    return new RegExp(translated, caseless ? 'i' : '');
  } catch (error) {
    const [, reason = ''] = /.*: (.*)$/s.exec((error as Error).message) ?? [];
    const known = reason === 'Nothing to repeat' ? 'quantifier does not follow a repeatable item' : reason;
    throw new ArgError(`invalid regular expression "${source}": ${known}`);
  }
}

/** Escapes outside of brackets that are neither a character nor a set. A match starts where the text does, so `\G` is its start. */
const ASSERTIONS: Readonly<Record<string, string>> = {
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
  [/^\\[pP]/, 'Unicode properties'],
  [/^\\[KX]/, '"\\K" and "\\X"'],
];
const UNSUPPORTED_HINT = 'write it without; docs/configuration.md, "Differences", says what of PCRE there is not';

const OPENING =
  /^\((?:\?(?:(?<kind>:|=|!|<=|<!)|(?:P?<|')(?<name>\w*)[>']|P=(?<reference>\w+)\)|(?<on>[is]*)(?:-(?<off>[is]*))?(?<end>[:)])))?/;

/** Options of a group, from some place in it on. */
interface Options {
  readonly caseless: boolean;
  readonly dotAll: boolean;
}

/** A group that is open. JavaScript has options for whole groups only: where they change, one is opened that ends with the alternative. */
interface Level {
  readonly outside: Options;
  options: Options;
  wrapped: boolean;
}

class Translator {
  readonly #source: string;
  #at = 0;
  #output = '';
  #groups = 0;
  readonly #names = new Map<string, number>();
  readonly #outer: Level[] = [];
  #level: Level;

  constructor(
    private readonly written: string,
    caseless: boolean,
  ) {
    this.#source = withoutQuoting(Buffer.from(written).latin1Slice());
    const options = { caseless, dotAll: false };
    this.#level = { outside: options, options, wrapped: false };
  }

  translate(): string {
    while (this.#at < this.#source.length) this.#next();
    if (this.#outer.length > 0) this.#refuse('missing closing parenthesis');
    this.#endAlternative();
    return this.#output;
  }

  #next(): void {
    const character = this.#source.charAt(this.#at);
    switch (character) {
      case '\\':
        return this.#escape();
      case '[':
        return this.#brackets();
      case '(':
        return this.#open();
      case ')':
        return this.#close();
      case '|':
        this.#endAlternative();
        this.#put('|', 1);
        return this.#wrap();
      case '.':
        return this.#put(this.#level.options.dotAll ? '[^]' : String.raw`[^\n]`, 1);
      case '$':
        return this.#put(String.raw`(?=\n?$)`, 1);
      case '^':
        return this.#put('^', 1);
      default:
        return this.#quantifierOrCharacter(character);
    }
  }

  #quantifierOrCharacter(character: string): void {
    const [quantifier] = this.#match(/^(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?/) ?? [];
    if (quantifier === undefined) return this.#put(writeByte(character.charCodeAt(0)), 1);
    if (quantifier.length > 1 && quantifier.endsWith('+')) this.#refuse('possessive quantifiers are not supported', UNSUPPORTED_HINT);
    return this.#put(quantifier, quantifier.length);
  }

  #open(): void {
    const [comment] = this.#match(/^\(\?#[^)]*\)/) ?? [];
    if (comment !== undefined) return this.#put('', comment.length);
    this.#refuseUnsupported();
    const [text = '', ...[kind, name, reference, on, off, end]] = this.#match(OPENING) ?? [];
    if (text === '(' && this.#source.charAt(this.#at + 1) === '?') this.#refuse('unrecognized character after (? or (?-');
    if (reference !== undefined) return this.#reference(reference, text.length);
    if (end === undefined && kind === undefined) this.#count(name);
    const { options } = this.#level;
    const changed = { caseless: changedOption(options.caseless, 'i', on, off), dotAll: changedOption(options.dotAll, 's', on, off) };
    if (end === ')') return this.#change(changed, text.length);
    this.#outer.push(this.#level);
    this.#level = { outside: options, options: changed, wrapped: false };
    if (end === ':') this.#put('(?:', text.length);
    else if (kind !== undefined) this.#put(`(?${kind}`, text.length);
    else this.#put(name === undefined ? '(' : `(?<${name}>`, text.length);
    return this.#wrap();
  }

  #count(name: string | undefined): void {
    this.#groups++;
    if (name === undefined) return;
    if (!/^[A-Za-z_]\w{0,31}$/.test(name)) this.#refuse('a name of a group is made of letters, digits and "_", a digit not the first');
    if (this.#names.has(name)) this.#refuse('two named subpatterns have the same name');
    this.#names.set(name, this.#groups);
  }

  #close(): void {
    const level = this.#outer.pop();
    if (level === undefined) return this.#refuse('unmatched closing parenthesis');
    this.#endAlternative();
    this.#put(')', 1);
    this.#level = level;
  }

  /** `(?i)`: holds to the end of the group, in the alternatives that follow as well. */
  #change(options: Options, length: number): void {
    this.#endAlternative();
    this.#level.options = options;
    this.#put('', length);
    this.#wrap();
  }

  #wrap(): void {
    const { options, outside } = this.#level;
    if (options.caseless === outside.caseless) return;
    this.#output += options.caseless ? '(?i:' : '(?-i:';
    this.#level.wrapped = true;
  }

  #endAlternative(): void {
    if (this.#level.wrapped) this.#output += ')';
    this.#level.wrapped = false;
  }

  #escape(): void {
    this.#refuseUnsupported();
    const reference = this.#match(/^\\(?:g(?:\{(-?\w+)\}|(-?\d+))|k(?:\{(\w+)\}|<(\w+)>|'(\w+)')|([1-9]\d*))/);
    if (reference !== null && !this.#isOctal()) return this.#reference(reference.slice(1).find(Boolean) ?? '', reference[0].length);
    const letter = this.#source.charAt(this.#at + 1);
    const assertion = ASSERTIONS[letter];
    const set = escapedSet(letter);
    if (set !== undefined) return this.#put(`[${writeSet(set)}]`, 2);
    if (assertion === undefined) return this.#put(writeByte(this.#escapedByte()), 0);
    if (letter === 'N' && this.#source.charAt(this.#at + 2) === '{') this.#refuse('\\N{...} is not supported', UNSUPPORTED_HINT);
    return this.#put(assertion, 2);
  }

  /** `\12` is a reference only if there are twelve groups. */
  #isOctal(): boolean {
    const [, number] = this.#match(/^\\(\d\d+)/) ?? [];
    return number !== undefined && Number(number) > this.#groups;
  }

  /** A reference stands behind its group: in JavaScript one to a group without a match matches nothing, in PCRE it fails. */
  #reference(to: string, length: number): void {
    const number = /^-?\d+$/.test(to) ? (to.startsWith('-') ? this.#groups + 1 + Number(to) : Number(to)) : this.#names.get(to);
    if (number === undefined || number < 1 || number > this.#groups) return this.#refuse('reference to non-existent subpattern');
    return this.#put(`(?:\\${number})`, length);
  }

  /** The byte that an escape stands for; goes on behind it. */
  #escapedByte(): number {
    const [text, braced, digits, octal, bracedOctal, control, letter = ''] =
      this.#match(/^\\(?:x(?:\{([\da-f]+)\}|([\da-f]{0,2}))|([0-7]{1,3})|o\{([0-7]+)\}|c([ -~])|([^]))/i) ?? [];
    if (text === undefined) return this.#refuse('\\ at end of pattern');
    let code = CONTROLS[letter] ?? letter.charCodeAt(0);
    if (braced !== undefined || digits !== undefined) code = Number.parseInt(braced ?? `0${digits}`, 16);
    else if (octal !== undefined || bracedOctal !== undefined) code = Number.parseInt(octal ?? bracedOctal ?? '', 8);
    else if (control !== undefined) code = control.toUpperCase().charCodeAt(0) ^ 0x40;
    if (code > LAST_BYTE) this.#refuse('character code point value in \\x{} or \\o{} is too large');
    if (/[a-z\d]/i.test(letter) && CONTROLS[letter] === undefined) this.#refuse('unrecognized character follows \\');
    this.#at += text.length;
    return code;
  }

  #brackets(): void {
    if (this.#match(/^\[([:.=])[^\]]*\1\]/) !== null) this.#refuse('POSIX named classes are supported only within a class');
    const [opening = ''] = this.#match(/^\[\^?/) ?? [];
    this.#put(opening, opening.length);
    const start = this.#at;
    while (this.#at === start || this.#source.charAt(this.#at) !== ']') {
      if (this.#at >= this.#source.length) this.#refuse('missing terminating ] for character class');
      this.#output += writeSet(this.#range());
    }
    this.#put(']', 1);
  }

  /** One character, a range or a set between brackets. */
  #range(): CharacterSet {
    const first = this.#bracketed();
    if (this.#match(/^-[^\]]/) === null) return typeof first === 'number' ? [[first, first]] : first;
    this.#at++;
    const last = this.#bracketed();
    if (typeof first !== 'number' || typeof last !== 'number') return this.#refuse('invalid range in character class');
    if (last < first) this.#refuse('range out of order in character class');
    return [[first, last]];
  }

  #bracketed(): number | CharacterSet {
    const [named, name] = this.#match(/^\[:(\^?[a-z]*):\]/) ?? [];
    if (named !== undefined) {
      const set = posixSet(name ?? '', this.#level.options.caseless);
      this.#at += named.length;
      return set ?? this.#refuse('unknown POSIX class name');
    }
    if (this.#match(/^\[([.=])[^]*\1\]/) !== null) this.#refuse('POSIX collating elements are not supported');
    if (this.#source.charAt(this.#at) !== '\\') return this.#source.charCodeAt(this.#at++);
    return this.#escapeInBrackets();
  }

  #escapeInBrackets(): number | CharacterSet {
    this.#refuseUnsupported();
    const letter = this.#source.charAt(this.#at + 1);
    const set = escapedSet(letter);
    if (set === undefined && letter !== 'b') {
      if (ASSERTIONS[letter] !== undefined) this.#refuse('escape sequence is invalid in character class');
      return this.#escapedByte();
    }
    this.#at += 2;
    return set ?? 8;
  }

  #refuseUnsupported(): void {
    for (const [looks, name] of UNSUPPORTED) {
      if (this.#match(looks) !== null) this.#refuse(`${name} are not supported`, UNSUPPORTED_HINT);
    }
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    return pattern.exec(this.#source.slice(this.#at));
  }

  /** Writes something, and goes on behind the next `length` characters of the source. */
  #put(text: string, length: number): void {
    this.#output += text;
    this.#at += length;
  }

  #refuse(reason: string, hint?: string): never {
    const rest = Buffer.from(this.#source.slice(this.#at), 'latin1').toString();
    throw new ArgError(`invalid regular expression "${this.written}": ${reason}${rest === '' ? '' : ` at "${rest}"`}`, hint);
  }
}

function changedOption(value: boolean, letter: string, on = '', off = ''): boolean {
  return (value || on.includes(letter)) && !off.includes(letter);
}

/** `\Q...\E` with a backslash before each of its characters instead. */
function withoutQuoting(source: string): string {
  return source.replaceAll(/\\Q([^]*?)(?:\\E|$)|\\E|\\[^]/g, (text, quoted: string | undefined) => {
    if (quoted !== undefined) return quoted.replaceAll(/\W/g, String.raw`\$&`);
    return text === String.raw`\E` ? '' : text;
  });
}
