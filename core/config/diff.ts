/**
 * Finds what turns one tree into another. Directives that mean the same thing keep their id and key, so that what hangs on them (open
 * connections, counters, member ids) stays.
 */
import { blockContext, type ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { longestIncreasing } from './increasing.js';
import { exactDirective } from '../contract/print.js';
import type { SpecRegistry } from './registry.js';
import { ROOT_ID, directiveData, sameHead, type DirectiveData, type TreeOperation } from './operations.js';
import type { Tree } from './tree.js';

/** The specs that say what makes two directives the same thing. */
export type Specs = Pick<SpecRegistry, 'find' | 'identityOf'>;

/**
 * Operations that make `before` say what `after` says: one for each directive that comes, goes, changes, or has another place among the
 * others, and no more. How words are quoted and where they are written makes no difference.
 */
export function diffTrees(before: Tree, after: Tree, specs: Specs): TreeOperation[] {
  return blockOperations(new Pairing(specs).block(before.root, after.root, 'main'), ROOT_ID);
}

/**
 * Operations that put `now` in the place of `old`, a directive of the current tree in a block of `context`. Directives with the same
 * meaning in both keep their id and key.
 */
export function diffDirective(old: Directive, now: Directive, context: ContextName | undefined, specs: Specs): readonly TreeOperation[] {
  return pairOperations(new Pairing(specs).pair(now, old, context), old);
}

/** A directive of the new tree and the one of the old tree that it continues. */
interface Pair {
  readonly now: Directive;
  readonly old?: Directive;
  readonly inside?: PairedBlock;
}

interface PairedBlock {
  /** In the order of the new tree. */
  readonly pairs: readonly Pair[];
  readonly removed: readonly Directive[];
  /** Directives that stay where they are. */
  readonly stationary: ReadonlySet<Pair>;
}

const EMPTY: readonly Directive[] = [];

class Pairing {
  constructor(private readonly specs: Specs) {}

  block(before: Iterable<Directive>, after: Iterable<Directive>, context: ContextName | undefined): PairedBlock {
    const old = [...before];
    const continued = this.match(old, [...after], context);
    const pairs = Array.from(after, (now) => this.pair(now, continued.get(now), context));
    const kept = new Set(continued.values());
    return { pairs, removed: old.filter((directive) => !kept.has(directive)), stationary: stationaryOf(old, pairs) };
  }

  pair(now: Directive, old: Directive | undefined, context: ContextName | undefined): Pair {
    if (old === undefined) return { now };
    if (now.block === undefined) return { now, old };
    const known = context && this.specs.find(context, now.name);
    const inner = known && blockContext(known.spec);
    return { now, old, inside: this.block(old.block ?? EMPTY, now.block, inner) };
  }

  /** For each directive that is not new the one it continues. */
  private match(old: readonly Directive[], now: readonly Directive[], context: ContextName | undefined): Map<Directive, Directive> {
    const continued = pairByKey(old, now);
    const taken = new Set(continued.values());
    const identity = (directive: Directive): string => this.identity(directive, context);
    const oldByIdentity = Map.groupBy(
      old.filter((directive) => !taken.has(directive)),
      identity,
    );
    // One that has a key, and is not continued by it, is another one: also if it says the same.
    const unkeyed = now.filter(({ key }) => key === undefined);
    for (const [text, same] of Map.groupBy(unkeyed, identity)) pairUp(oldByIdentity.get(text) ?? [], same, continued);
    return continued;
  }

  /** Two directives of one block with the same text are the same thing. */
  private identity(directive: Directive, context: ContextName | undefined): string {
    const { name } = directive;
    if (context === 'entries') return name;
    const spec = context && this.specs.find(context, name)?.spec;
    if (spec?.identity !== undefined) return `${name}\0${this.specs.identityOf(directive, spec)}`;
    return spec && spec.many === undefined ? name : headText(directive);
  }
}

/** Pairs directives of one name and lasting key. */
function pairByKey(old: readonly Directive[], now: readonly Directive[]): Map<Directive, Directive> {
  const continued = new Map<Directive, Directive>();
  if (now.every(({ key }) => key === undefined)) return continued;
  const keyed = old.filter(({ key }) => key !== undefined);
  const oldByKey = new Map(keyed.map((directive) => [`${directive.key}\0${directive.name}`, directive]));
  for (const directive of now) {
    const match = directive.key === undefined ? undefined : oldByKey.get(`${directive.key}\0${directive.name}`);
    if (match !== undefined) continued.set(directive, match);
  }
  return continued;
}

/** Pairs directives of one identity: first the ones that are equal as a whole, then the others in order. */
function pairUp(old: readonly Directive[], now: readonly Directive[], continued: Map<Directive, Directive>): void {
  let free = old;
  if (old.length > 1 || now.length > 1) {
    const equal = Map.groupBy(old, contentText);
    const taken = new Set<Directive>();
    for (const directive of now) {
      const match = equal.get(contentText(directive))?.shift();
      if (match === undefined) continue;
      continued.set(directive, match);
      taken.add(match);
    }
    free = old.filter((directive) => !taken.has(directive));
  }
  let next = 0;
  for (const directive of now) {
    if (continued.has(directive)) continue;
    const match = free[next++];
    if (match === undefined) return;
    continued.set(directive, match);
  }
}

function headText({ name, args }: Directive): string {
  return [name, ...args.map(({ text }) => text)].join('\0');
}

function contentText(directive: Directive): string {
  return directive.block === undefined ? headText(directive) : exactDirective(directive);
}

/** As many as possible. */
function stationaryOf(old: readonly Directive[], pairs: readonly Pair[]): ReadonlySet<Pair> {
  const continued = pairs.filter((pair) => pair.old !== undefined);
  const positions = new Map(old.map((directive, i) => [directive, i]));
  const order = continued.map((pair) => positions.get(pair.old as Directive) ?? 0);
  return new Set(longestIncreasing(order).map((place) => continued[place] as Pair));
}

/** Added and moved directives are put in front of the next one that stays. */
function blockOperations({ pairs, removed, stationary }: PairedBlock, parent: number): TreeOperation[] {
  const operations: TreeOperation[] = removed.map(({ id }) => ({ op: 'remove', id }));
  const following = followers(pairs, stationary);
  for (const [i, pair] of pairs.entries()) {
    const before = following[i];
    const place = before === undefined ? {} : { before };
    if (pair.old === undefined) operations.push({ op: 'add', parent, directive: directiveData(pair.now), ...place });
    else {
      if (!stationary.has(pair)) operations.push({ op: 'move', id: pair.old.id, ...place });
      for (const operation of pairOperations(pair, pair.old)) operations.push(operation);
    }
  }
  return operations;
}

/** For each pair the id of the next one that stays where it is; undefined: none does. */
function followers(pairs: readonly Pair[], stationary: ReadonlySet<Pair>): readonly (number | undefined)[] {
  const ids: (number | undefined)[] = [];
  let next: number | undefined;
  for (const [i, pair] of [...pairs.entries()].reverse()) {
    ids[i] = next;
    if (stationary.has(pair)) next = pair.old?.id;
  }
  return ids;
}

function pairOperations(pair: Pair, old: Directive): readonly TreeOperation[] {
  const { now, inside } = pair;
  if (sameHead(old, now) && (old.block === undefined) === (now.block === undefined))
    return inside === undefined ? [] : blockOperations(inside, old.id);
  return [{ op: 'replace', directive: adopted(pair) }];
}

/** The new directive under the ids and keys of what it continues. */
function adopted({ now, old, inside }: Pair): DirectiveData {
  if (old === undefined) return directiveData(now);
  const { name, args, source } = now;
  const key = old.key ?? now.key;
  return { id: old.id, name, args, source, ...(inside && { block: inside.pairs.map(adopted) }), ...(key !== undefined && { key }) };
}
