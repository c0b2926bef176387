import { compilePattern } from '../../core/toolkit/pattern.js';
import { ArgError } from '../../core/contract/spec.js';

/** Rules for a response. Texts of rules and of responses are strings of bytes (latin1). */
export interface StatusRule {
  readonly isNegated: boolean;
  /** First and last status of each range. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
}
export interface HeaderRule {
  /** Name of the field in lower case. */
  readonly field: string;
  readonly isNegated: boolean;
  /** Undefined: the field has to be there, whatever its value. */
  readonly value: string | RegExp | undefined;
}
export interface BodyRule {
  readonly isNegated: boolean;
  readonly pattern: RegExp;
}

const STATUS = /^(\d{3})(?:-(\d{3}))?$/;
const FIELD = /^[\w!#$%&'*+.^`|~-]+$/;

/** `200`, `200-299 301`, `! 500-599`. @throws ArgError */
export function parseStatus(text: string): StatusRule {
  const [, negation, codes = ''] = /^(!?)\s*(.*)$/s.exec(text.trim()) ?? [];
  const ranges = codes.split(/\s+/).map((word) => {
    const [, from, to = from] = STATUS.exec(word) ?? [];
    if (from === undefined || to === undefined || from > to || from < '100') throw badRule('status', text, '200, 200-299 301, ! 500-599');
    return [Number(from), Number(to)] as const;
  });
  return { isNegated: negation === '!', ranges };
}

/** `Name`, `! Name`, `Name = value`, `Name != value`, `Name ~ regex`, `Name !~ regex`; `~*` ignores case. @throws ArgError */
export function parseHeader(text: string): HeaderRule {
  const [, negation, field = '', operator, value = ''] = /^(!?)\s*(\S+)(?:\s+(!?(?:=|~\*?))\s+(.*))?$/s.exec(text.trim()) ?? [];
  const isMalformed = !FIELD.test(field) || field.startsWith('!') || (negation === '!' && operator !== undefined);
  if (isMalformed) throw badRule('header', text, 'Name, ! Name, Name = value, Name ~ regex');
  const isNegated = negation === '!' || operator?.startsWith('!') === true;
  return { field: field.toLowerCase(), isNegated, value: operator === undefined ? undefined : comparand(operator.replace('!', ''), value) };
}

/** `~ regex`, `!~ regex`; `~*` ignores case. @throws ArgError */
export function parseBody(text: string): BodyRule {
  const [, negation, caseless, source = ''] = /^(!?)\s*~(\*?)\s+(.+)$/s.exec(text.trim()) ?? [];
  if (source === '') throw badRule('body', text, '~ regex, !~ regex');
  return { isNegated: negation === '!', pattern: patternOf(source, caseless === '*') };
}

/** `text` that the data begins with, `~ regex` that it matches. @throws ArgError */
export function parseExpectation(text: string): Buffer | RegExp {
  const [, caseless, source] = /^~(\*?)\s+(.+)$/s.exec(text) ?? [];
  return source === undefined ? parseBytes(text) : patternOf(source, caseless === '*');
}

/** Text with `\xHH` for any byte. */
export function parseBytes(text: string): Buffer {
  const bytes = Buffer.from(text).latin1Slice();
  return Buffer.from(
    bytes.replaceAll(/\\x([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

export function passesStatus({ isNegated, ranges }: StatusRule, status: number): boolean {
  return ranges.some(([from, to]) => status >= from && status <= to) !== isNegated;
}

/** @param values of the field, one for each of its lines */
export function passesHeader({ isNegated, value }: HeaderRule, values: readonly string[]): boolean {
  const isThere =
    value === undefined ? values.length > 0 : values.some((one) => (typeof value === 'string' ? one === value : value.test(one)));
  return isThere !== isNegated;
}

function comparand(operator: string, value: string): string | RegExp {
  return operator === '=' ? Buffer.from(value).latin1Slice() : patternOf(value, operator === '~*');
}

function patternOf(source: string, caseless: boolean): RegExp {
  return compilePattern(source, caseless);
}

function badRule(what: string, text: string, forms: string): ArgError {
  return new ArgError(`invalid ${what} rule "${text}"`, `written as ${forms}`);
}
