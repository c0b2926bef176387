/** Writes directives as nginx-style text that parses back to the same directives. */
import type { Directive, Word } from './tree.js';
import { quoteWord } from './words.js';

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
  return quoteWord(text, quote);
}
