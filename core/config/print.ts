/** Writes directives as nginx-style text that parses back to the same directives. */
import type { Directive, Word } from '../module/tree.js';

type Printable = Pick<Directive, 'name' | 'args'> & { readonly block?: Iterable<Printable> };

const INDENT = '    ';

/** The directives with their blocks, one a line, each line ended. */
export function printTree(directives: Iterable<Printable>, indent = ''): string {
  let text = '';
  for (const directive of directives) text += printDirective(directive, indent);
  return text;
}

/** One directive with its block; every line is ended. */
export function printDirective(directive: Printable, indent = ''): string {
  const head = `${indent}${printHead(directive)}`;
  if (directive.block === undefined) return `${head};\n`;
  return `${head} {\n${printTree(directive.block, indent + INDENT)}${indent}}\n`;
}

/** Name and arguments without a terminator: `upstream demo`. */
export function printHead({ name, args }: Printable): string {
  return [quoteWord(name), ...args.map(printWord)].join(' ');
}

/** A word in the quotes it was written in, or in some if it needs them. */
export function printWord({ text, quote }: Pick<Word, 'text' | 'quote'>): string {
  return quote === undefined ? quoteWord(text) : inQuotes(text, quote);
}

/** Any text as one word. Use it for every text that is put together to a configuration. */
export function quoteWord(text: string): string {
  if (isBare(text)) return escapeBackslashes(text);
  return inQuotes(text, text.includes('"') && !text.includes("'") ? "'" : '"');
}

/** Blanks and `;` end a word; `{` does, unless it opens a variable's name; some characters mean something else at the start of one. */
function isBare(text: string): boolean {
  return text !== '' && !/[ \t\r\n;]|^["'#{}\uFEFF]|(?<!\$)\{|\\\$\{/.test(text);
}

function inQuotes(text: string, quote: '"' | "'"): string {
  const escaped = escapeBackslashes(text).replaceAll(quote, `\\${quote}`);
  return (
    quote +
    escaped
      .replaceAll('\n', String.raw`\n`)
      .replaceAll('\r', String.raw`\r`)
      .replaceAll('\t', String.raw`\t`) +
    quote
  );
}

/** A backslash is doubled only where it would be taken for an escape, so that regular expressions stay as people write them. */
function escapeBackslashes(text: string): string {
  return text.replaceAll(/\\(?=["'\\trn]|$|[\n\t\r])/g, String.raw`\\`);
}
