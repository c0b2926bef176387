/** Sets of bytes as PCRE has them: `\s`, `[[:alpha:]]`, and their complements. Other than in JavaScript all of them end with ASCII. */

/** The first and the last byte of each range, in order. */
export type CharacterSet = readonly (readonly [first: number, last: number])[];

export const LAST_BYTE = 0xff;

/** `text` is pairs of characters: `09AF` is the digits and A to F. */
function ranges(text: string): CharacterSet {
  return (text.match(/[^][^]/g) ?? []).map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]);
}

const DIGITS = ranges('09');
const SPACES = ranges('\t\r  ');
const WORD = ranges('09AZ__az');

const POSIX: Readonly<Record<string, CharacterSet>> = {
  alnum: ranges('09AZaz'),
  alpha: ranges('AZaz'),
  ascii: ranges('\0\x7f'),
  blank: ranges('\t\t  '),
  cntrl: ranges('\0\x1f\x7f\x7f'),
  digit: DIGITS,
  graph: ranges('!~'),
  lower: ranges('az'),
  print: ranges(' ~'),
  punct: ranges('!/:@[`{~'),
  space: SPACES,
  upper: ranges('AZ'),
  word: WORD,
  xdigit: ranges('09AFaf'),
};

const ESCAPED: Readonly<Record<string, CharacterSet>> = {
  d: DIGITS,
  h: ranges('\t\t  \xa0\xa0'),
  s: SPACES,
  v: ranges('\n\r\x85\x85'),
  w: WORD,
};

export function complement(set: CharacterSet): CharacterSet {
  const others: (readonly [number, number])[] = [];
  let next = 0;
  for (const [first, last] of set) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  return next > LAST_BYTE ? others : [...others, [next, LAST_BYTE]];
}

/** `alpha`, `^alpha`; undefined if there is no such class. Where case does not matter, the classes of one case are those of both. */
export function posixSet(name: string, caseless: boolean): CharacterSet | undefined {
  const plain = name.replace(/^\^/, '');
  const known = caseless && (plain === 'lower' || plain === 'upper') ? 'alpha' : plain;
  const set = Object.hasOwn(POSIX, known) ? POSIX[known] : undefined;
  return set !== undefined && plain !== name ? complement(set) : set;
}

/** The set that a letter after a backslash names; undefined if it names none. */
export function escapedSet(letter: string): CharacterSet | undefined {
  const lower = letter.toLowerCase();
  const set = ESCAPED[lower];
  return set !== undefined && lower !== letter ? complement(set) : set;
}

/** A byte as an expression of JavaScript has it, within brackets and outside. */
export function writeByte(code: number): string {
  const character = String.fromCharCode(code);
  return /\w/.test(character) ? character : `\\x${code.toString(16).padStart(2, '0')}`;
}

/** Text of the set between brackets. */
export function writeSet(set: CharacterSet): string {
  return set.map(([first, last]) => (first === last ? writeByte(first) : `${writeByte(first)}-${writeByte(last)}`)).join('');
}

const [UPPER, LOWER, CASE_BIT] = [ranges('AZ'), ranges('az'), 0x20];

/** The set with the letters of ASCII that it has, in both cases. */
export function inBothCases(set: CharacterSet): CharacterSet {
  const others = set.flatMap(([first, last]) =>
    [...UPPER, ...LOWER].flatMap(([low, high]): CharacterSet => {
      const [from, to] = [Math.max(first, low), Math.min(last, high)];
      return from > to ? [] : [[from ^ CASE_BIT, to ^ CASE_BIT]];
    }),
  );
  return [...set, ...others];
}
