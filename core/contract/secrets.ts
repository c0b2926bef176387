/** Secrets that are in a configuration itself, and texts without them. */

/** The start of a key in PEM, of whatever kind; what follows may be cut off. */
const KEY_START = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;
const KEY_IN_TEXT = /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(?:.*?-----END \1-----|.*)/gs;
/** Directives whose argument is a key, or the file of one; `data:` is in front of a key. */
const KEY_DIRECTIVE = /certificate_key$/;
const KEY_ARGUMENT = /(certificate_key\s+)(?:"data:(?:[^"\\]|\\.)*"?|'data:(?:[^'\\]|\\.)*'?|data:[^\s;]*)/gs;
/** An argument in quotes that is data itself, not the name of a file. */
const QUOTED_DATA = /"data:(?:[^"\\]|\\.)*"|'data:(?:[^'\\]|\\.)*'/gs;
const DATA = 'data:';

/** Directives whose arguments are secrets. */
const SECRET_DIRECTIVE = /_(?:secret|password)$/;
/** Directives whose first argument is the name of a field, and whether the field has a secret. */
const FIELD_DIRECTIVE = /(?:^|_)(?:header|param)$/;
const SECRET_FIELD = /auth|key|token|secret|password/i;
/** Arguments that hold none: variables, the file of a secret, operators of a `match`, nothing. */
const NO_SECRET = /\$|^(?:file=.*|[!=~*]*)$/s;
/** One of these directives at the start of a line, or after the one before it, with all its arguments. */
const STATEMENT = /(^|[;{}+-])(\s*)(\w*(?:_secret|_password|header|_param))(\s+)((?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^;{}"'\n])*)/gm;
const WORD = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s"']+/gs;
/** Quick: texts without any of these have no secret. */
const SUSPECT = /data:|PRIVATE KEY|_secret|_password|header|_param/;

/** Replacement of a secret. */
const MASK = '(secret)';

export function hasKey(text: string): boolean {
  return KEY_START.test(text);
}

/**
 * An argument of a directive as it is shown: without private keys, without the arguments of directives whose name ends in `_secret` or `_password`,
 * and without the value of fields whose name says that they have a secret (`proxy_set_header Authorization …`).
 * @param first the first argument of the directive
 */
export function shownWord(directive: string, text: string, first: string): string {
  const isInline = text.startsWith(DATA);
  if (isInline && KEY_DIRECTIVE.test(directive)) return DATA + MASK;
  if (KEY_START.test(text)) return (isInline ? DATA : '') + MASK;
  return isSecret(directive, first, text === first) && !NO_SECRET.test(text) ? MASK : text;
}

/** An argument that came from what was shown, and is not the secret itself. */
export function isMasked(directive: string, text: string, first: string): boolean {
  if (text === DATA + MASK) return KEY_DIRECTIVE.test(directive);
  return text === MASK && isSecret(directive, first, false);
}

function isSecret(directive: string, first: string, isFirst: boolean): boolean {
  return SECRET_DIRECTIVE.test(directive) || (!isFirst && FIELD_DIRECTIVE.test(directive) && SECRET_FIELD.test(first));
}

/** Text of directives, or a message about them, as it is shown. */
export function shownText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text
    .replaceAll(KEY_ARGUMENT, `$1${DATA}${MASK}`)
    .replaceAll(QUOTED_DATA, (word) => (hasKey(word) ? DATA + MASK : word))
    .replaceAll(KEY_IN_TEXT, MASK)
    .replaceAll(STATEMENT, (_, before: string, indent: string, name: string, space: string, words: string) => {
      const first = unquoted(WORD[Symbol.match](words)?.[0] ?? '');
      const shown = words.replaceAll(WORD, (word) => (shownWord(name, unquoted(word), first) === MASK ? MASK : word));
      return before + indent + name + space + shown;
    });
}

const unquoted = (word: string): string => word.replaceAll(/^["']|["']$/g, '');

/** JSON values as they are shown. */
export function shownValues(values: readonly unknown[]): readonly unknown[] {
  const text = JSON.stringify(values);
  if (!SUSPECT.test(text)) return values;
  return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? shownText(value) : value)) as unknown[];
}
