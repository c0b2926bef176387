/** Cache-Control (RFC 9111, 5.2), and in its place CDN-Cache-Control (RFC 9213) or Surrogate-Control (Edge Architecture Specification, 2.2). */
import { parseDictionary } from './dictionary.js';

/**
 * Arguments of directives as they were written, by names in lower case; empty: without one. Of a directive that is repeated, the first counts
 * (RFC 9111, 4.2.1).
 */
export type CacheControl = ReadonlyMap<string, string>;

/** Elements of a list whose commas may be in quotes. An open quote reaches to the end. */
const ELEMENTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const ELEMENT = /^([!#$%&'*+\-.^_`|~\w]+)(?:=)?(.*)$/;
/** The largest number of seconds: what is more counts as this (RFC 9111, 1.2.2). */
const MOST_SECONDS = 2 ** 31;
/** Directives of Surrogate-Control with seconds; the last two are what caches in use have added. */
const OF_SURROGATES: ReadonlySet<string> = new Set(['max-age', 'stale-while-revalidate', 'stale-if-error']);
/** Directives whose arguments are integers. */
const NUMBERS: ReadonlySet<string> = new Set(['max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error']);

/** Elements with a name, which is in lower case here. */
function* elementsOf(value: string): Generator<readonly [name: string, argument: string]> {
  for (const [element] of value.matchAll(ELEMENTS)) {
    const [, name, argument = ''] = ELEMENT.exec(element.trim()) ?? [];
    if (name !== undefined) yield [name.toLowerCase(), argument];
  }
}

/** Parses the field; malformed elements have no effect, except for malformed arguments, which are kept. */
export function parseCacheControl(value: string | undefined): CacheControl {
  const directives = new Map<string, string>();
  for (const [name, argument] of elementsOf(value ?? '')) if (!directives.has(name)) directives.set(name, argument);
  return directives;
}

/**
 * The directives for a cache like this one, in whose place Cache-Control and Expires have no effect: those of CDN-Cache-Control, else those of
 * Surrogate-Control. Undefined: there are none.
 */
export function parseTargeted(cdn: string | undefined, surrogate: string | undefined): CacheControl | undefined {
  return parseCdn(cdn) ?? (surrogate === undefined ? undefined : parseSurrogate(surrogate));
}

/** `no-store`, and `max-age` with the seconds after it in which a stale response may be used, as in `max-age=600+60`; for all caches, or for one of the name `srv`. */
function parseSurrogate(value: string): CacheControl | undefined {
  const directives = new Map<string, string>();
  for (const [name, argument] of elementsOf(value)) {
    const [text = '', target = 'srv'] = argument.split(';', 2);
    const [, fresh, stale] = /^(\d+)(?:\+(\d+))?$/.exec(text.trim()) ?? [];
    if (target.trim() !== 'srv' || directives.has(name)) continue;
    if (name === 'no-store') directives.set(name, '');
    else if (OF_SURROGATES.has(name) && fresh !== undefined) directives.set(name, fresh);
    if (name === 'max-age' && stale !== undefined) directives.set('stale-while-revalidate', stale);
  }
  return directives.has('no-store') || directives.has('max-age') ? directives : undefined;
}

/** Undefined: the field is malformed, or empty. */
function parseCdn(cdn: string | undefined): CacheControl | undefined {
  const dictionary = parseDictionary(cdn ?? '');
  if (dictionary === undefined || dictionary.size === 0) return undefined;
  const directives = new Map<string, string>();
  for (const [name, { type, value }] of dictionary) {
    if (NUMBERS.has(name) && type !== 'integer') return undefined;
    if (type === 'boolean') {
      if (value) directives.set(name, '');
    } else if (type === 'string') directives.set(name, `"${value}"`);
    else if (type === 'list') directives.set(name, '()');
    else directives.set(name, String(value));
  }
  return directives;
}

/** Seconds of a directive, at most 2^31. Undefined: there is no such directive; NaN: its argument is not a number of seconds. */
export function secondsOf(control: CacheControl, name: string): number | undefined {
  const argument = control.get(name);
  return argument === undefined ? undefined : parseSeconds(argument);
}

/** NaN: it is none. A quoted number is one, too (RFC 9111, 5.2). */
export function parseSeconds(argument: string): number {
  const digits = /^(\d+)$|^"(\d+)"$/.exec(argument);
  return digits === null ? NaN : Math.min(Number(digits[1] ?? digits[2]), MOST_SECONDS);
}

/** True if the directive is about the whole response: with a list of field names it is about these. */
export function isUnqualified(control: CacheControl, name: string): boolean {
  return control.has(name) && namesOf(control, name).length === 0;
}

/** Names of fields, in lower case, in the argument of `private` or `no-cache`. */
export function namesOf(control: CacheControl, name: string): readonly string[] {
  const [, list = ''] = /^"([^"\\]*)"$/.exec(control.get(name) ?? '') ?? [];
  return list
    .toLowerCase()
    .split(',')
    .map((field) => field.trim())
    .filter((field) => field !== '');
}
