/** Lines that a block may have several of, and whose order may matter: access rules, fields, rewrites. */
import { longestIncreasing } from '../config/increasing.js';
import type { SpecRegistry } from '../config/registry.js';
import { exactDirective } from '../contract/print.js';
import type { ContextName } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';

/** Others have a name, a key or a block that they are known by. */
export function isOrderedLine({ name, key, block }: Directive, context: ContextName | undefined, registry: SpecRegistry): boolean {
  if (block !== undefined || key !== undefined || context === undefined || context === 'entries') return false;
  const spec = registry.find(context, name)?.spec;
  return spec?.many === true && spec.identity === undefined && spec.keyed === undefined;
}

export function orderedLines(block: Block, context: ContextName, registry: SpecRegistry): readonly Directive[] {
  return [...block].filter((directive) => isOrderedLine(directive, context, registry));
}

/** A line as the history has it, with the step of what stood after it where that is no such line. */
export type NotedLine = string | readonly [text: string, next: string];

export const textOf = (line: NotedLine): string => (typeof line === 'string' ? line : line[0]);

/** Texts of lines that do not change: each change of a block notes all its lines. */
export class LineTexts {
  readonly #texts = new WeakMap<Directive, string>();

  of(line: Directive): string {
    const known = this.#texts.get(line);
    if (known !== undefined) return known;
    const text = exactDirective(line);
    this.#texts.set(line, text);
    return text;
  }
}

/** @param stepOf the step of a directive of the block, number included */
export function notedLines(
  block: Block,
  context: ContextName,
  registry: SpecRegistry,
  stepOf: (directive: Directive) => string,
  texts: LineTexts,
): readonly NotedLine[] {
  const noted: NotedLine[] = [];
  let last: string | undefined;
  for (const directive of block) {
    const isLine = isOrderedLine(directive, context, registry);
    if (last !== undefined) noted.push(isLine ? last : [last, stepOf(directive)]);
    last = isLine ? texts.of(directive) : undefined;
  }
  return last === undefined ? noted : [...noted, last];
}

/** How many such lines are in front of a directive in its block. */
export function placeAmongLines(id: number, block: Block, context: ContextName, registry: SpecRegistry): number {
  let place = 0;
  for (const directive of block) {
    if (directive.id === id) break;
    if (isOrderedLine(directive, context, registry)) place++;
  }
  return place;
}

/** One change of a line of a block, with its place among those lines before it went, or after it came or changed. */
export interface OrderedLineChange {
  readonly place: number;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  /** Step of what stood after a line that went. */
  readonly next?: string | undefined;
}

/** Takes a change back in a list of lines. After a change of the file a line may be elsewhere: then it is searched for in all of them. */
export function undoLine(lines: NotedLine[], { place, before, after, next }: OrderedLineChange): void {
  const restored: readonly NotedLine[] = before === undefined ? [] : [next === undefined ? before : [before, next]];
  if (after === undefined) lines.splice(place, 0, ...restored);
  else {
    const known = lines[place];
    const at = known !== undefined && textOf(known) === after ? place : lines.findIndex((line) => textOf(line) === after);
    if (at >= 0) lines.splice(at, 1, ...restored);
  }
}

/**
 * Lines of a block to remove, and for each wanted line the one that stays for it; undefined: it is to be added. As many lines as
 * possible stay where they are.
 */
export function lineChanges(
  current: readonly Directive[],
  wanted: readonly NotedLine[],
): { readonly removed: readonly Directive[]; readonly kept: readonly (Directive | undefined)[] } {
  const free = Map.groupBy(current, (line) => exactDirective(line));
  const found = wanted.map((line) => free.get(textOf(line))?.shift());
  const places = new Map(current.map((line, at) => [line, at]));
  const known = found.filter((line) => line !== undefined);
  const stay = new Set(longestIncreasing(known.map((line) => places.get(line) ?? 0)).map((at) => known[at]));
  return { removed: current.filter((line) => !stay.has(line)), kept: found.map((line) => (stay.has(line) ? line : undefined)) };
}
