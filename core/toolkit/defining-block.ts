import { template, variableName } from '../contract/args.js';
import type { Directive } from '../contract/tree.js';

type Line = Pick<Directive, 'args'>;

/** A directive that gives a variable a value by the entries of its block and a text: `map`, `split_clients`. @param engine the block of the traffic engine */
export function definingBlock<const E extends string>(engine: E) {
  return {
    in: [engine],
    args: { source: template('string'), variable: variableName() },
    block: 'entries',
    many: true,
    inherit: 'none',
    identity: ({ args }: Line) => args.map(({ text }) => text).join(' '),
    dynamic: true,
  } as const;
}

/** The variable that the line names, without its dollar. */
export function definedVariable({ args }: Line): readonly string[] {
  const { text = '' } = args[1] ?? {};
  return text.startsWith('$') ? [text.slice(1)] : [];
}
