/**
 * Directives as nginx-style text. It comes in two forms: exactly, for the journal, for edits and for comparing; and as it is shown to people and
 * callers, without secrets.
 */
import { shownWord } from './secrets.js';
import type { Directive } from './tree.js';
import { quoteWord } from './words.js';

type Printable = Pick<Directive, 'name' | 'args'> & { readonly block?: Iterable<Printable> };
/** Text of an argument of a directive. */
type ArgumentText = (directive: string, text: string, first: string) => string;

const INDENT = '    ';
const same: ArgumentText = (_, text) => text;

/** Text that parses back to the same directives, one a line with their blocks, each line ended. It may hold secrets: never show or log it. */
export function exactTree(directives: Iterable<Printable>, indent = ''): string {
  return written(directives, indent, same);
}

/** As {@link exactTree}, of one directive. */
export function exactDirective(directive: Printable, indent = ''): string {
  return writtenDirective(directive, indent, same);
}

/** Name and arguments of a directive without a terminator, as {@link exactTree}. */
export function exactHead(directive: Printable): string {
  return head(directive, same);
}

/** The directives as they are shown: as {@link exactTree}, but what stands for a secret is `(secret)`. */
export function shownTree(directives: Iterable<Printable>, indent = ''): string {
  return written(directives, indent, shownWord);
}

/** As {@link shownTree}, of one directive. */
export function shownDirective(directive: Printable, indent = ''): string {
  return writtenDirective(directive, indent, shownWord);
}

/** Name and arguments without a terminator, as they are shown: `upstream demo`. */
export function shownHead(directive: Printable): string {
  return head(directive, shownWord);
}

function written(directives: Iterable<Printable>, indent: string, argument: ArgumentText): string {
  let text = '';
  for (const directive of directives) text += writtenDirective(directive, indent, argument);
  return text;
}

function writtenDirective(directive: Printable, indent: string, argument: ArgumentText): string {
  const start = `${indent}${head(directive, argument)}`;
  if (directive.block === undefined) return `${start};\n`;
  return `${start} {\n${written(directive.block, indent + INDENT, argument)}${indent}}\n`;
}

/** Words keep the quotes they were written in, or get some if they need them. The replacement of a secret looks the same in any case. */
function head({ name, args }: Printable, argument: ArgumentText): string {
  const words = args.map(({ text, quote }) => {
    const shown = argument(name, text, args[0]!.text);
    return quoteWord(shown, shown === text ? quote : undefined);
  });
  return [quoteWord(name), ...words].join(' ');
}
