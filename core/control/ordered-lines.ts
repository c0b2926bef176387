/** Lines that a block may have several of, and whose order may matter: access rules, fields, rewrites. */
import { longestIncreasing } from '../config/increasing.js';
import type { SpecRegistry } from '../config/registry.js';
import { exactDirective } from '../module/print.js';
import type { ContextName } from '../module/spec.js';
import type { Block, Directive } from '../module/tree.js';

/** Others have a name, a key or a block that they are known by. */
export function isOrderedLine({ name, key, block }: Directive, context: ContextName | undefined, registry: SpecRegistry): boolean {
  if (block !== undefined || key !== undefined || context === undefined || context === 'entries') return false;
  const spec = registry.find(context, name)?.spec;
  return spec?.many === true && spec.identity === undefined && spec.keyed === undefined;
}

export function orderedLines(block: Block, context: ContextName, registry: SpecRegistry): readonly Directive[] {
  return [...block].filter((directive) => isOrderedLine(directive, context, registry));
}

/** A step of the way from one list to another. */
export type LineStep = { readonly remove: Directive } | { readonly add: string; readonly before: Directive | undefined };

/** The steps that make a list of texts of the lines of a block; as many lines as possible stay where they are. */
export function* lineSteps(current: readonly Directive[], wanted: readonly string[]): Generator<LineStep> {
  const free = Map.groupBy(current, (line) => exactDirective(line));
  const kept = wanted.map((text) => free.get(text)?.shift());
  const places = new Map(current.map((line, at) => [line, at]));
  const known = kept.filter((line) => line !== undefined);
  const stay = new Set(longestIncreasing(known.map((line) => places.get(line) ?? 0)).map((at) => known[at]));
  for (const line of current) if (!stay.has(line)) yield { remove: line };
  const next = kept.filter((line) => stay.has(line)).values();
  let before = next.next().value;
  for (const [at, text] of wanted.entries()) {
    const line = kept[at];
    if (line !== undefined && line === before) before = next.next().value;
    else yield { add: text, before };
  }
}
