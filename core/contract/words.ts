/** Writing words of the configuration language. */

/**
 * Any text as one word of a configuration: quoted and escaped where it needs to be, so that it cannot end its directive or its block.
 * Use it for every text that is put together to a configuration.
 * @param quote the quotes to use in any case
 */
export function quoteWord(text: string, quote?: '"' | "'"): string {
  if (quote === undefined && isBare(text)) return escapeBackslashes(text);
  return inQuotes(text, quote ?? (text.includes('"') && !text.includes("'") ? "'" : '"'));
}

/** A directive without a block as configuration text. Each word stays one word, whatever characters it has. */
export function directiveText(name: string, words: readonly string[]): string {
  return `${[name, ...words].map((word) => quoteWord(word)).join(' ')};`;
}

/** Blanks and `;` end a word; `{` does, unless it opens a variable's name; some characters mean something else at the start of one. */
function isBare(text: string): boolean {
  return text !== '' && !/[ \t\r\n;]|^["'#{}\uFEFF]|(?<!\$)\{|\\\$\{/.test(text);
}

const LINE_ESCAPES: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

function inQuotes(text: string, quote: '"' | "'"): string {
  const escaped = escapeBackslashes(text).replaceAll(quote, `\\${quote}`);
  return quote + escaped.replaceAll(/[\n\r\t]/g, (character) => LINE_ESCAPES[character] ?? character) + quote;
}

/** A backslash is doubled only where it would be taken for an escape, so that regular expressions stay as people write them. */
function escapeBackslashes(text: string): string {
  return text.replaceAll(/\\(?=["'\\trn]|$|[\n\t\r])/g, String.raw`\\`);
}
