/** Private keys that are in a configuration itself, and texts without them. */

/** The start of a key in PEM, of whatever kind; what follows may be cut off. */
const KEY_START = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;
const KEY_IN_TEXT = /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(?:.*?-----END \1-----|.*)/gs;
/** Directives whose argument is a key, or the file of one; `data:` is in front of a key. */
const KEY_DIRECTIVE = /certificate_key$/;
const KEY_ARGUMENT = /(certificate_key\s+)(?:"data:(?:[^"\\]|\\.)*"?|'data:(?:[^'\\]|\\.)*'?|data:[^\s;]*)/gs;
/** An argument in quotes that is data itself, not the name of a file. */
const QUOTED_DATA = /"data:(?:[^"\\]|\\.)*"|'data:(?:[^'\\]|\\.)*'/gs;
const DATA = 'data:';

/** Replacement of a key. */
const MASK = '(secret)';

export function hasKey(text: string): boolean {
  return KEY_START.test(text);
}

/** An argument of a directive as it is shown. */
export function shownWord(directive: string, text: string): string {
  const isInline = text.startsWith(DATA);
  if (isInline && KEY_DIRECTIVE.test(directive)) return DATA + MASK;
  return KEY_START.test(text) ? (isInline ? DATA : '') + MASK : text;
}

/** Text of directives, or a message about them, as it is shown. */
export function shownText(text: string): string {
  if (!text.includes(DATA) && !text.includes('PRIVATE KEY')) return text;
  return text
    .replaceAll(KEY_ARGUMENT, `$1${DATA}${MASK}`)
    .replaceAll(QUOTED_DATA, (word) => (hasKey(word) ? DATA + MASK : word))
    .replaceAll(KEY_IN_TEXT, MASK);
}

/** JSON values as they are shown. */
export function shownValues(values: readonly unknown[]): readonly unknown[] {
  const text = JSON.stringify(values);
  if (!text.includes('PRIVATE KEY')) return values;
  return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? shownText(value) : value)) as unknown[];
}
