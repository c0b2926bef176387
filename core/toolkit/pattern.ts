/**
 * Regular expressions of the configuration. They are written for PCRE, as nginx compiles them: over bytes, and with a `$` that also matches
 * before a last line feed. Here they become expressions of JavaScript that match the same. An expression without a counterpart in
 * JavaScript is rejected: read as something else it would open what a location is to close.
 */
import { escapedSet, inBothCases, writeByte, writeSet } from './character-set.js';
import { ASSERTIONS, PatternSource, UNSUPPORTED_HINT } from './pattern-source.js';
import { ArgError } from '../contract/spec.js';

/**
 * Compiles an expression. Strings of requests are strings of bytes (latin1); so is what it is matched with. Names of groups are names of
 * variables, which are the same in any case: the expression has them in lower case.
 * @throws ArgError for what PCRE rejects, and for what has no counterpart
 */
export function compilePattern(source: string, caseless: boolean): RegExp {
  const spelled = new Translator(source, caseless, true);
  const translated = spelled.translate();
  try {
    if (!spelled.comparesCaseless) return new RegExp(translated);
    return new RegExp(new Translator(source, caseless, false).translate(), caseless ? 'i' : '');
  } catch (error) {
    if (error instanceof ArgError) throw error;
    const [, reason = ''] = /.*: (.*)$/s.exec((error as Error).message) ?? [];
    const known = reason === 'Nothing to repeat' ? 'quantifier does not follow a repeatable item' : reason;
    throw new ArgError(`invalid regular expression "${source}": ${known}`);
  }
}

/** The names of the groups of an expression: names of variables. */
export function namedGroups(source: string): readonly string[] {
  return Array.from(source.matchAll(/\(\?(?:P?<|')([A-Za-z_]\w*)[>']/g), ([, name = '']) => name);
}

/** `$` of PCRE. */
const LINE_END = String.raw`(?=\n?$)`;

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
  readonly #source: PatternSource;
  #output = '';
  #groups = 0;
  readonly #names = new Map<string, number>();
  readonly #outer: Level[] = [];
  #level: Level;
  /** It has a reference to a group that is compared without case: no set of characters says that. */
  comparesCaseless = false;

  /**
   * @param spells writes letters in both cases where case does not matter, instead of leaving it to options: V8 can end an expression that tries
   * too much (core/kernel/linear-patterns.ts) only without them
   */
  constructor(
    written: string,
    caseless: boolean,
    private readonly spells: boolean,
  ) {
    this.#source = new PatternSource(written);
    const options = { caseless, dotAll: false };
    this.#level = { outside: options, options, wrapped: false };
  }

  translate(): string {
    while (!this.#source.ended) this.#next();
    if (this.#outer.length > 0) this.#source.refuse('missing closing parenthesis');
    this.#endAlternative();
    // At the end what is matched does not matter, and V8's other engine knows no look-ahead.
    return this.#output.endsWith(LINE_END) ? `${this.#output.slice(0, -LINE_END.length)}\\n?$` : this.#output;
  }

  #next(): void {
    const character = this.#source.charAt(0);
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
        return this.#put(LINE_END, 1);
      case '^':
        return this.#put('^', 1);
      default:
        return this.#quantifierOrCharacter(character);
    }
  }

  #quantifierOrCharacter(character: string): void {
    const [quantifier] = this.#source.match(/^(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?/) ?? [];
    if (quantifier === undefined) return this.#put(this.#byte(character.charCodeAt(0)), 1);
    if (quantifier.length > 1 && quantifier.endsWith('+'))
      this.#source.refuse('possessive quantifiers are not supported', UNSUPPORTED_HINT);
    return this.#put(quantifier, quantifier.length);
  }

  #open(): void {
    const [comment] = this.#source.match(/^\(\?#[^)]*\)/) ?? [];
    if (comment !== undefined) return this.#put('', comment.length);
    this.#source.refuseUnsupported();
    const [text = '', ...[kind, name, reference, on, off, end]] = this.#source.match(OPENING) ?? [];
    if (text === '(' && this.#source.charAt(1) === '?') this.#source.refuse('unrecognized character after (? or (?-');
    if (reference !== undefined) return this.#reference(reference, text.length);
    if (end === undefined && kind === undefined) this.#count(name);
    const { options } = this.#level;
    const changed = { caseless: changedOption(options.caseless, 'i', on, off), dotAll: changedOption(options.dotAll, 's', on, off) };
    if (end === ')') return this.#change(changed, text.length);
    this.#outer.push(this.#level);
    this.#level = { outside: options, options: changed, wrapped: false };
    if (end === ':') this.#put('(?:', text.length);
    else if (kind !== undefined) this.#put(`(?${kind}`, text.length);
    else this.#put(name === undefined ? '(' : `(?<${name.toLowerCase()}>`, text.length);
    return this.#wrap();
  }

  #count(name: string | undefined): void {
    this.#groups++;
    if (name === undefined) return;
    if (!/^[A-Za-z_]\w{0,31}$/.test(name))
      this.#source.refuse('a name of a group is made of letters, digits and "_", a digit not the first');
    if (this.#names.has(name)) this.#source.refuse('two named subpatterns have the same name');
    this.#names.set(name, this.#groups);
  }

  #close(): void {
    const level = this.#outer.pop();
    if (level === undefined) return this.#source.refuse('unmatched closing parenthesis');
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
    if (this.spells || options.caseless === outside.caseless) return;
    this.#output += options.caseless ? '(?i:' : '(?-i:';
    this.#level.wrapped = true;
  }

  #endAlternative(): void {
    if (this.#level.wrapped) this.#output += ')';
    this.#level.wrapped = false;
  }

  #escape(): void {
    this.#source.refuseUnsupported();
    if (this.#source.hasProperty) return this.#property();
    const reference = this.#source.match(/^\\(?:g(?:\{(-?\w+)\}|(-?\d+))|k(?:\{(\w+)\}|<(\w+)>|'(\w+)')|([1-9]\d*))/);
    if (reference !== null && !this.#isOctal()) return this.#reference(reference.slice(1).find(Boolean) ?? '', reference[0].length);
    const letter = this.#source.charAt(1);
    const assertion = ASSERTIONS[letter];
    const set = escapedSet(letter);
    if (set !== undefined) return this.#put(`[${writeSet(set)}]`, 2);
    if (assertion === undefined) return this.#put(this.#byte(this.#source.escapedByte()), 0);
    if (letter === 'N' && this.#source.charAt(2) === '{') this.#source.refuse('\\N{...} is not supported', UNSUPPORTED_HINT);
    return this.#put(assertion, 2);
  }

  /** Case does not matter to a property. */
  #property(): void {
    const set = `[${writeSet(this.#source.property())}]`;
    this.#put(this.spells || !this.#level.options.caseless ? set : `(?-i:${set})`, 0);
  }

  /** `\12` is a reference only if there are twelve groups. */
  #isOctal(): boolean {
    const [, number] = this.#source.match(/^\\(\d\d+)/) ?? [];
    return number !== undefined && Number(number) > this.#groups;
  }

  /** A reference is after its group: in JavaScript one to a group without a match matches nothing, in PCRE it fails. */
  #reference(to: string, length: number): void {
    const number = /^-?\d+$/.test(to) ? (to.startsWith('-') ? this.#groups + 1 + Number(to) : Number(to)) : this.#names.get(to);
    if (number === undefined || number < 1 || number > this.#groups) return this.#source.refuse('reference to non-existent subpattern');
    this.comparesCaseless ||= this.#level.options.caseless;
    return this.#put(`(?:\\${number})`, length);
  }

  #brackets(): void {
    if (this.#source.match(/^\[([:.=])[^\]]*\1\]/) !== null) this.#source.refuse('POSIX named classes are supported only within a class');
    const [opening = ''] = this.#source.match(/^\[\^?/) ?? [];
    this.#put(opening, opening.length);
    // A "]" that comes first is one of the characters.
    do {
      if (this.#source.ended) this.#source.refuse('missing terminating ] for character class');
      const { caseless } = this.#level.options;
      const { hasProperty } = this.#source;
      if (hasProperty && caseless && !this.spells)
        this.#source.refuse('Unicode properties in brackets beside a reference are not supported', UNSUPPORTED_HINT);
      const set = this.#source.range(caseless);
      this.#output += writeSet(caseless && this.spells && !hasProperty ? inBothCases(set) : set);
    } while (this.#source.charAt(0) !== ']');
    this.#put(']', 1);
  }

  #byte(code: number): string {
    const both = this.spells && this.#level.options.caseless ? inBothCases([[code, code]]) : [];
    return both.length > 1 ? `[${writeSet(both)}]` : writeByte(code);
  }

  /** Writes something, and goes on after the next `length` characters of the source. */
  #put(text: string, length: number): void {
    this.#output += text;
    this.#source.skip(length);
  }
}

function changedOption(value: boolean, letter: string, on = '', off = ''): boolean {
  return (value || on.includes(letter)) && !off.includes(letter);
}
