import type { VariableMention } from '../config/variables.js';
import type { SpecRegistry } from '../config/registry.js';
import { errorAt, type ConfigError } from '../config/errors.js';
import type { Tree, TreeOperation } from '../config/tree.js';
import { blockContext, engineOf, type ContextName, type EngineName } from '../contract/spec.js';
import type { Directive, Written } from '../contract/tree.js';

/** A directive of a tree, or one as plain data. */
export type Mentioning = Written & { readonly id: number; readonly block?: Iterable<Mentioning> | undefined };

export interface Mention extends VariableMention {
  readonly directive: Mentioning;
  readonly module: string | undefined;
  /** Whose variables it has to do with. */
  readonly engine: EngineName;
  /** See `assigns` of the directive's spec. */
  readonly assigns: boolean;
}

const USE = /\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g;
const NONE: readonly string[] = [];

/** Relations of directives to variables, without directives that have none. */
export function mentionsIn(directives: Iterable<Mentioning>, context: ContextName | undefined, registry: SpecRegistry): Mention[] {
  const mentions: Mention[] = [];
  addMentions(mentions, directives, context, registry);
  return mentions;
}

function addMentions(
  mentions: Mention[],
  directives: Iterable<Mentioning>,
  context: ContextName | undefined,
  registry: SpecRegistry,
): void {
  for (const directive of directives) {
    const known = context === undefined ? undefined : registry.find(context, directive.name);
    const inner = known && blockContext(known.spec);
    const defines = known?.spec.defines === undefined ? NONE : [...known.spec.defines(directive as Directive)];
    const uses = inner === 'entries' ? usesWithEntries(directive) : usesOf(directive);
    if (defines.length > 0 || uses.length > 0)
      mentions.push({
        id: directive.id,
        defines,
        uses,
        directive,
        module: known?.module,
        engine: engineOf(context ?? 'main'),
        assigns: known?.spec.assigns === true,
      });
    if (directive.block !== undefined && inner !== 'entries') addMentions(mentions, directive.block, inner, registry);
  }
}

/** Directives that a change removes, and adds; `removed` undefined: everything is new. */
export function mentionsOf(
  before: Tree,
  after: Tree,
  operations: readonly TreeOperation[],
  registry: SpecRegistry,
): { readonly removed: Iterable<Mention> | undefined; readonly added: readonly Mention[] } {
  if (operations.some(({ op }) => op === 'root')) return { removed: undefined, added: mentionsIn(after.root, 'main', registry) };
  const gone = new Set<number>();
  const come = new Set<number>();
  for (const operation of operations) {
    if (operation.op === 'root') continue;
    const id = operation.op === 'add' || operation.op === 'replace' ? operation.directive.id : operation.id;
    // An entry is a part of the directive that it is in.
    const whole = holderOf(after, id, registry) ?? holderOf(before, id, registry);
    if (whole !== undefined) {
      gone.add(whole);
      come.add(whole);
      continue;
    }
    if (operation.op === 'remove' || operation.op === 'replace') gone.add(id);
    if (operation.op === 'add' || operation.op === 'replace') come.add(id);
  }
  return { removed: [...mentionsOfIds(before, gone, registry)], added: [...mentionsOfIds(after, come, registry)] };
}

function* mentionsOfIds(tree: Tree, ids: ReadonlySet<number>, registry: SpecRegistry): Generator<Mention> {
  for (const id of ids) {
    const directive = tree.byId(id);
    if (directive !== undefined) yield* mentionsIn([directive], registry.contextOf(tree, id), registry);
  }
}

/** The directive whose entries (`map`, `types`) this one is among. */
function holderOf(tree: Tree, id: number, registry: SpecRegistry): number | undefined {
  const parent = tree.parentOf(id);
  if (parent === undefined) return undefined;
  const context = registry.contextOf(tree, parent.id);
  return context !== undefined && registry.find(context, parent.name)?.spec.block === 'entries' ? parent.id : undefined;
}

/** Definitions of names that are not for a configuration to define. */
export function reservedNames(mentions: Iterable<Mention>, mayDefine: (name: string, engine: EngineName) => boolean): ConfigError[] {
  const errors: ConfigError[] = [];
  for (const { defines, directive, engine } of mentions) {
    for (const name of defines) {
      if (mayDefine(name, engine)) continue;
      const word = directive.args.find(({ text }) => text.includes(name));
      errors.push(errorAt(directive, `the duplicate "${name}" variable`, word, 'choose a name that no other variable has'));
    }
  }
  return errors;
}

function usesWithEntries(directive: Mentioning): readonly string[] {
  const entries = Array.from(directive.block ?? []).flatMap((entry) => [...usesOf(entry), ...usesIn(entry.name)]);
  return [...usesOf(directive), ...entries];
}

function usesOf({ args }: Mentioning): readonly string[] {
  for (const { text } of args) if (text.includes('$')) return args.flatMap((word) => usesIn(word.text));
  return NONE;
}

function usesIn(text: string): string[] {
  return text.includes('$') ? Array.from(text.matchAll(USE), ([, braced, plain]) => braced ?? plain ?? '') : [];
}
