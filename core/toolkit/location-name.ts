/** How the arguments of `location` are read. */
import type { Directive } from '../contract/tree.js';

export interface LocationName {
  /** Empty, `=`, `~`, `~*`, `^~`, or what is in its place. */
  readonly modifier: string;
  readonly name: string;
}

/** The modifier and name of a `location` line: `=/x` and `= /x` are the same. */
export function locationName({ args: [first, second] }: Pick<Directive, 'args'>): LocationName {
  if (first === undefined) return { modifier: '', name: '' };
  if (second !== undefined) return { modifier: first.text, name: second.text };
  const glued = /^(=|~\*|\^~|~)(?=.)/s.exec(first.text)?.[1] ?? '';
  return { modifier: glued, name: first.text.slice(glued.length) };
}
