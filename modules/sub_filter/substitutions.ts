import type { HttpRequest, Template } from '../../core/contract/http.js';

/** One `sub_filter`. */
export interface Substitution {
  readonly pattern: Template;
  readonly replacement: Template;
}

/** Texts that a `sub_filter` searches for in one response. */
export interface Pattern {
  /** Bytes as a latin1 string; ASCII letters in lower case. */
  readonly text: string;
  readonly replacement: Template;
}

/** The texts that are looked for, and the expressions that find them: made when they are needed first. */
export class Substitutions {
  readonly patterns: readonly Pattern[];
  readonly #expressions = new Map<string, RegExp>();

  /** @param request for texts with variables; empty ones are left out */
  constructor(lines: readonly Substitution[], request: HttpRequest | undefined) {
    this.patterns = lines.flatMap(({ pattern, replacement }) => {
      const text = lowerCase(request === undefined ? (pattern.constant ?? '') : pattern.of(request));
      return text === '' ? [] : [{ text, replacement }];
    });
  }

  /** Finds the first of these patterns that is next; the number of its group is its place in the list. */
  expression(patterns: readonly Pattern[]): RegExp {
    const key = patterns.map((pattern) => this.patterns.indexOf(pattern)).join();
    const known = this.#expressions.get(key);
    if (known !== undefined) return known;
    const made = new RegExp(patterns.map(({ text }) => `(${sourceOf(text)})`).join('|'), 'g');
    this.#expressions.set(key, made);
    return made;
  }
}

/** ASCII letters alone, as in nginx. */
export function lowerCase(bytes: string): string {
  return bytes.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function sourceOf(text: string): string {
  let source = '';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    source += /[a-z]/.test(character)
      ? `[${character}${character.toUpperCase()}]`
      : String.raw`\x${text.charCodeAt(at).toString(16).padStart(2, '0')}`;
  }
  return source;
}
