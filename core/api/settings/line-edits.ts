import { longestIncreasing } from '../../config/increasing.js';
import { exactDirective } from '../../contract/print.js';
import type { Edit } from '../../contract/transactions.js';
import type { Replacement, SettingLine } from '../../contract/setting.js';
import type { BlockPart, Directive, NewDirective } from '../../contract/tree.js';

/** A wanted line: the one of the block that it continues, and what it is to say if that is something else. */
interface Item {
  readonly line?: Directive;
  readonly by?: NewDirective;
}

/**
 * The edits that make `wanted` of the lines of a block: lines with the same meaning stay unchanged, also where they were written.
 * @param current the lines that the setting owns, in order
 */
export function lineEdits(parent: Directive, current: readonly Directive[], wanted: readonly SettingLine[]): Edit[] {
  const items = continued(current, wanted);
  const places = new Map(current.map((line, at) => [line, at]));
  const known = items.filter(({ line }) => line !== undefined);
  const stay = new Set(longestIncreasing(known.map(({ line }) => places.get(line as Directive) ?? 0)).map((at) => known[at]));
  const staying = new Set([...stay].map((item) => item?.line));
  const edits: Edit[] = current.filter((line) => !staying.has(line)).map((target) => ({ op: 'remove', target }));
  const following = followers(items, stay);
  for (const [at, item] of items.entries()) {
    const { line, by } = item;
    if (line !== undefined && stay.has(item)) {
      if (by !== undefined) edits.push({ op: 'replace', target: line, text: by });
      continue;
    }
    const before = following[at];
    const text = by ?? (line === undefined ? undefined : exactDirective(line));
    if (text !== undefined) edits.push({ op: 'add', parent, text, ...(before && { before }) });
  }
  return edits;
}

/** New lines that say what a line of the block says are this line. */
function continued(current: readonly Directive[], wanted: readonly SettingLine[]): readonly Item[] {
  const named = new Set(wanted.map((line) => (isReplacement(line) ? line.target : line)));
  const free = Map.groupBy(
    current.filter((line) => !named.has(line)),
    directiveKey,
  );
  return wanted.map((line) => {
    if (isReplacement(line))
      return directiveKey(line.target) === newKey(line.by) ? { line: line.target } : { line: line.target, by: line.by };
    if ('id' in line) return { line };
    const same = free.get(newKey(line))?.shift();
    return same === undefined ? { by: line } : { line: same };
  });
}

function isReplacement(line: SettingLine): line is Replacement {
  return 'target' in line;
}

/** For each item the next line that stays where it is. */
function followers(items: readonly Item[], stay: ReadonlySet<Item | undefined>): readonly (Directive | undefined)[] {
  const lines: (Directive | undefined)[] = [];
  let next: Directive | undefined;
  for (const [at, item] of [...items.entries()].reverse()) {
    lines[at] = next;
    if (stay.has(item)) next = item.line;
  }
  return lines;
}

function directiveKey({ name, args, block }: Directive): string {
  const words = args.map(({ text }) => text);
  return JSON.stringify([name, words, block && Array.from(block, directiveKey)]);
}

function newKey({ name, words, block }: NewDirective): string {
  return JSON.stringify([name, words, block?.map(partKey)]);
}

const partKey = (part: BlockPart): string => ('text' in part ? part.text : newKey(part));
