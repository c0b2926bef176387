/** Text of the file where the API changes a whole block, of which it changed single lines before. */
import { IdSource, type DirectiveData } from '../config/tree.js';
import { exactDirective } from '../contract/print.js';
import type { Directive } from '../contract/tree.js';
import { parseDirective } from './parse-directive.js';
import type { OverlayRow } from './store-tables.js';

/** A line of a block, of the tree or of a text. */
type Line = Pick<DirectiveData, 'name' | 'args' | 'key'>;

/**
 * The text of a block without the journal's changes of lines in it.
 * @param address of the block
 * @param rows all rows of the journal below it
 * @returns undefined: it is unknown. The place of a line that was removed follows from its key, which lines of a file have in their order
 */
export function textWithout(rows: readonly OverlayRow[], block: Directive, address: string): string | undefined {
  if (block.block === undefined || rows.some(({ parent, key }) => parent !== address || key === undefined)) return undefined;
  const changed = new Map(rows.map((row) => [row.key, row]));
  const lines = [...block.block].flatMap((line): (Directive | Line)[] => {
    const row = line.key === undefined ? undefined : changed.get(line.key);
    if (row === undefined) return [line];
    return row.was === undefined ? [] : [lineOf(row.was, row.key)];
  });
  const removed = rows.filter(({ op, was }) => op === 'remove' && was !== undefined);
  for (const { was = '', key = 0 } of removed.toSorted((a, b) => (a.key ?? 0) - (b.key ?? 0))) {
    const line = lineOf(was, key);
    const next = lines.findIndex((other) => other.name === line.name && (other.key ?? 0) > key);
    const last = lines.findLastIndex(({ name }) => name === line.name);
    lines.splice(next >= 0 ? next : last >= 0 ? last + 1 : lines.length, 0, line);
  }
  const { name, args } = block;
  return exactDirective({ name, args, block: lines });
}

function lineOf(text: string, key: number | undefined): Line {
  const { name, args } = parseDirective(text, new IdSource());
  return { name, args, ...(key !== undefined && { key }) };
}

/**
 * True if two texts of a block have the same meaning. Lines with a key, such as the members of an upstream, are put after the other
 * directives by a change; their place among them has no meaning.
 */
export function saysTheSame(text: string, was: string, block: Directive): boolean {
  if (text === was) return true;
  const names = new Set(Array.from(block.block ?? []).flatMap(({ name, key }) => (key === undefined ? [] : [name])));
  return names.size > 0 && keyedLast(text, names) === keyedLast(was, names);
}

function keyedLast(text: string, names: ReadonlySet<string>): string {
  const isKeyed = (line: string): boolean => names.has(/^ {4}(\S+)/.exec(line)?.[1] ?? '');
  const lines = text.split('\n');
  return [...lines.filter((line) => !isKeyed(line)), ...lines.filter(isKeyed)].join('\n');
}
