/** Random trees with hostile words, for property tests. */
import * as fc from 'fast-check';
import type { DirectiveData, IdSource } from '../../core/config/tree.js';

export interface Shape {
  readonly name: string;
  readonly args: readonly { readonly text: string; readonly quote?: '"' | "'" }[];
  readonly block: readonly Shape[] | undefined;
}

const hostile = fc
  .array(fc.constantFrom(...Array.from('ab\\\\;{}#$"\'()\n\r\t ='), '${', '\\"', '\\n', '\\$', '\uFEFF', 'é', '🙂', '\u2028', '\0'), {
    maxLength: 8,
  })
  .map((parts) => parts.join(''));

/** Any text: mostly made of what means something to the lexer. */
export const anyText = fc.oneof({ weight: 5, arbitrary: hostile }, { weight: 1, arbitrary: fc.string({ unit: 'grapheme' }) });

const word = fc.record({ text: anyText, quote: fc.constantFrom('"' as const, "'" as const) }, { requiredKeys: ['text'] });
// Lines named `include` are what the parser acts on and never hands out.
const name = anyText.filter((text) => text !== 'include');

export const shapes: fc.Arbitrary<readonly Shape[]> = fc.letrec<{ shape: Shape; shapes: Shape[] }>((tie) => ({
  shape: fc.record({ name, args: fc.array(word, { maxLength: 3 }), block: fc.option(tie('shapes'), { nil: undefined, maxDepth: 5 }) }),
  shapes: fc.array(tie('shape'), { maxLength: 4 }),
})).shapes;

/** The shape as directives with fresh ids. */
export function dataOf(shapes: readonly Shape[], ids: IdSource): DirectiveData[] {
  return shapes.map(({ name, args, block }) => ({
    id: ids.next(),
    name,
    args: args.map((word) => ({ ...word, line: 1, column: 1 })),
    source: { file: 'random', line: 1, column: 1 },
    ...(block && { block: dataOf(block, ids) }),
  }));
}

interface Printable {
  readonly name: string;
  readonly args: readonly { readonly text: string }[];
  readonly block?: Iterable<Printable>;
}

/** Names, texts and blocks alone, to compare by. */
export function contentOf(directives: Iterable<Printable>): unknown {
  return Array.from(directives, ({ name, args, block }) => [name, args.map(({ text }) => text), block && contentOf(block)]);
}
